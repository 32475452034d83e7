// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// applyDevices replaces device nodes by their path, and allows them in the device
// cgroup.
func (c *Config) applyDevices(p *patch, nodes []*cdispecs.DeviceNode, look Looker) error {
	if len(nodes) == 0 {
		return nil
	}
	devices := listOf(c.valueAt("linux", "devices"), func(v jsontree.Value) string { return v.At("path").Text() })
	rules := listOf(c.valueAt("linux", "resources", "devices"), func(jsontree.Value) string { return "" })
	allowed := rulesInForce(rules.old)
	user := c.User()
	for _, n := range nodes {
		d := *n
		if err := fillFromHost(&d, look); err != nil {
			return err
		}
		setOwner(&d, user)
		devices.remove(d.Path)
		devices.add(d.Path, encodeJSON(ociDevice(&d)))
		if d.Type == "b" || d.Type == "c" {
			r := rule{allow: true, typ: d.Type, access: cgroupAccess(d.Permissions), major: d.Major, minor: d.Minor, numbers: 3}
			if !slices.Contains(allowed, r) {
				allowed = append(allowed, r)
				rules.add("", encodeJSON(ociRule(r)))
			}
		}
	}
	devices.saveToPatch(p, "linux", "devices")
	rules.saveToPatch(p, "linux", "resources", "devices")
	return nil
}

// fillFromHost fills missing values of a device node from the node of the host: type
// and numbers if it has none, and the mode. A node with a type and number need not
// exist on the host.
func fillFromHost(d *cdispecs.DeviceNode, look Looker) error {
	stated := d.Type != "" && (d.Major != 0 || d.Type == "p")
	if d.HostPath == "" {
		d.HostPath = d.Path
	}
	host, err := look(d.HostPath)
	if err != nil {
		if stated {
			return nil
		}
		return fmt.Errorf("inspect device %q: %w", d.HostPath, err)
	}
	if d.FileMode == nil {
		mode := fs.FileMode(host.Mode) // in the format of stat(2), which runtimes expect
		d.FileMode = &mode
	}
	if stated {
		return nil
	}
	if d.Type == "" {
		d.Type = host.Type
	}
	if d.Type != host.Type {
		return fmt.Errorf("%w: device %q is of type %q, and %q of the host of type %q", ErrEdits, d.Path, d.Type, d.HostPath,
			host.Type)
	}
	if d.Type != "p" && d.Major == 0 {
		d.Major, d.Minor = int64(host.Major), int64(host.Minor)
	}
	return nil
}

// setOwner makes the user of the process the owner of a device without one.
func setOwner(d *cdispecs.DeviceNode, u User) {
	if d.UID == nil && u.UID > 0 {
		d.UID = &u.UID
	}
	if d.GID == nil && u.GID > 0 {
		d.GID = &u.GID
	}
}

// cgroupAccess converts CDI permissions to those of a device cgroup.
func cgroupAccess(permissions string) string {
	switch permissions {
	case "":
		return "rwm"
	case "none":
		return ""
	}
	return permissions
}

// rulesInForce returns the allowing rules after the last denying one.
func rulesInForce(list jsontree.Value) []rule {
	var rules []rule
	for v := range list.Elements() {
		if r := readRule(v); r.allow {
			rules = append(rules, r)
		} else {
			rules = nil
		}
	}
	return rules
}

func ociRule(r rule) specs.LinuxDeviceCgroup {
	return specs.LinuxDeviceCgroup{Allow: r.allow, Type: r.typ, Major: &r.major, Minor: &r.minor, Access: r.access}
}

func ociDevice(d *cdispecs.DeviceNode) specs.LinuxDevice {
	return specs.LinuxDevice{
		Path: d.Path, Type: d.Type, Major: d.Major, Minor: d.Minor, FileMode: d.FileMode, UID: d.UID,
		GID: d.GID,
	}
}
