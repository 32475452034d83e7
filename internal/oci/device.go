package oci

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// applyDevices replaces device nodes by their path, and lets the device cgroup
// pass them.
func (c *Config) applyDevices(p *patch, nodes []*cdispecs.DeviceNode, look Looker) error {
	if len(nodes) == 0 {
		return nil
	}
	devices := listOf(c.at("linux", "devices"), func(v jsontree.Value) string { return v.At("path").Text() })
	rules := listOf(c.at("linux", "resources", "devices"), func(jsontree.Value) string { return "" })
	allowed := inForce(rules.old)
	user := c.User()
	for _, n := range nodes {
		d := *n
		if err := complete(&d, look); err != nil {
			return err
		}
		own(&d, user)
		devices.remove(d.Path)
		devices.add(d.Path, encode(ociDevice(&d)))
		if d.Type == "b" || d.Type == "c" {
			r := rule{allow: true, typ: d.Type, access: access(d.Permissions), major: d.Major, minor: d.Minor, numbers: 3}
			if !slices.Contains(allowed, r) {
				allowed = append(allowed, r)
				rules.add("", encode(ociRule(r)))
			}
		}
	}
	devices.save(p, "linux", "devices")
	rules.save(p, "linux", "resources", "devices")
	return nil
}

// complete fills in what a device node does not say from the node of the host:
// its type and numbers if it has none, its mode in any case. A node with a type
// and a number need not be there.
func complete(d *cdispecs.DeviceNode, look Looker) error {
	stated := d.Type != "" && (d.Major != 0 || d.Type == "p")
	if d.HostPath == "" {
		d.HostPath = d.Path
	}
	host, err := look(d.HostPath)
	if err != nil {
		if stated {
			return nil
		}
		return fmt.Errorf("look at device %q: %w", d.HostPath, err)
	}
	if d.FileMode == nil {
		mode := fs.FileMode(host.Mode) // as stat(2) has it, which is how runtimes read it
		d.FileMode = &mode
	}
	if stated {
		return nil
	}
	if d.Type == "" {
		d.Type = host.Type
	}
	if d.Type != host.Type {
		return fmt.Errorf("%w: device %q is of type %q, and %q of the host of type %q", ErrEdits, d.Path, d.Type, d.HostPath, host.Type)
	}
	if d.Type != "p" && d.Major == 0 {
		d.Major, d.Minor = int64(host.Major), int64(host.Minor)
	}
	return nil
}

// own gives a device without owner to the user of the process.
func own(d *cdispecs.DeviceNode, u User) {
	if d.UID == nil && u.UID > 0 {
		d.UID = &u.UID
	}
	if d.GID == nil && u.GID > 0 {
		d.GID = &u.GID
	}
}

// access is what a device cgroup lets pass.
func access(permissions string) string {
	switch permissions {
	case "":
		return "rwm"
	case "none":
		return ""
	}
	return permissions
}

// inForce returns the rules that nothing that is denied after them takes back.
func inForce(list jsontree.Value) []rule {
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
	return specs.LinuxDevice{Path: d.Path, Type: d.Type, Major: d.Major, Minor: d.Minor, FileMode: d.FileMode, UID: d.UID, GID: d.GID}
}
