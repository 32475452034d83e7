// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/devcgroup"
	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// errEngine reports an edit that only an engine can make.
var errEngine = errors.New("a prestart hook cannot inject it; use CDI or the precreate stage")

// Pending are the edits that a container being made still lacks.
type Pending struct {
	nodes    []*cdispecs.DeviceNode
	mounts   []*cdispecs.Mount
	actions  []string // the command line of the spec's hooks, all metax-hook
	optional bool     // whether these only make links that a container can do without
	missing  []string // environment variables that programs need, which a hook cannot set
}

// Empty reports whether an engine or an earlier stage has injected all devices and
// mounts. It then has applied hooks, groups and environment also.
func (p *Pending) Empty() bool { return len(p.nodes) == 0 && len(p.mounts) == 0 }

// NewPending returns which of all edits a container still lacks. It fails for edits that a
// prestart hook cannot make. Known are the actions that the spec's hooks may have, with their
// options.
func NewPending(all *cdispecs.ContainerEdits, config *oci.Config, known map[string][]string) (*Pending, error) {
	if len(all.NetDevices) > 0 || all.IntelRdt != nil {
		return nil, fmt.Errorf("network devices and cache allocation: %w", errEngine)
	}
	p := &Pending{}
	for _, node := range all.DeviceNodes {
		if node.Type != "" && node.Type != "c" && node.Type != "u" {
			return nil, fmt.Errorf("device node %s of type %q: %w", node.Path, node.Type, errEngine)
		}
		if node.Permissions != "" && !strings.Contains(node.Permissions, "r") {
			return nil, fmt.Errorf("device node %s with permissions %q: %w", node.Path, node.Permissions, errEngine)
		}
		if !madeByRuntime(node, config.Devices()) {
			p.nodes = append(p.nodes, node)
		}
	}
	for i, m := range all.Mounts {
		if err := checkMount(m); err != nil {
			return nil, fmt.Errorf("mount on %s: %w", m.ContainerPath, err)
		}
		again := func(o *cdispecs.Mount) bool { return samePath(o.ContainerPath, m.ContainerPath) }
		if slices.ContainsFunc(all.Mounts[i+1:], again) {
			continue // of several mounts on one path, engines take the last
		}
		there := func(o oci.Mount) bool {
			return samePath(o.Destination, m.ContainerPath) && samePath(o.Source, m.HostPath)
		}
		if !slices.ContainsFunc(config.Mounts(), there) {
			p.mounts = append(p.mounts, m)
		}
	}
	p.optional = true
	for _, h := range all.Hooks {
		steps, err := checkHook(h, known)
		if err != nil {
			return nil, err
		}
		p.optional = p.optional && !slices.ContainsFunc(steps,
			func(s hook.Step) bool { return s.Action != "create-symlinks" || s.Options["link"] != nil })
		p.actions = append(p.actions, h.Args[1:]...)
	}
	for _, v := range all.Env {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains(config.Env(), v) && name != edits.UUIDsVariable && name != edits.IndicesVariable {
			p.missing = append(p.missing, v)
		}
	}
	return p, nil
}

// madeByRuntime reports whether the runtime makes the node with the number that the
// host's node has now. If the host's node cannot be read, the later open reports that.
func madeByRuntime(node *cdispecs.DeviceNode, devices []oci.Device) bool {
	var st unix.Stat_t
	if err := unix.Stat(hostPath(node), &st); err != nil {
		return false
	}
	return slices.ContainsFunc(devices, func(d oci.Device) bool {
		return samePath(d.Path, node.Path) && d.Type != "b" && uint64(st.Rdev) == unix.Mkdev(uint32(d.Major), uint32(d.Minor))
	})
}

func hostPath(node *cdispecs.DeviceNode) string { return cmp.Or(node.HostPath, node.Path) }

func samePath(a, b string) bool { return filepath.Clean(a) == filepath.Clean(b) }

// checkMount fails for a mount that is not a read-only one of the host's files.
func checkMount(m *cdispecs.Mount) error {
	if m.Type != "" && m.Type != "bind" && m.Type != "none" {
		return fmt.Errorf("type %q: %w", m.Type, errEngine)
	}
	if !slices.Contains(m.Options, "ro") {
		return fmt.Errorf("a writable mount: %w", errEngine)
	}
	known := []string{"ro", "bind", "rbind", "nosuid", "nodev", "noexec", "private", "rprivate", "slave", "rslave"}
	for _, option := range m.Options {
		if !slices.Contains(known, option) {
			return fmt.Errorf("option %q: %w", option, errEngine)
		}
	}
	return nil
}

// checkHook returns the steps of a hook, and fails for one that is not this program with
// its actions of the stage createContainer.
func checkHook(h *cdispecs.Hook, known map[string][]string) ([]hook.Step, error) {
	if filepath.Base(h.Path) != "metax-hook" || len(h.Args) == 0 || h.HookName != "createContainer" {
		return nil, fmt.Errorf("%s hook %s: %w", h.HookName, h.Path, errEngine)
	}
	// An unknown action is an error here: the container would lack its effect.
	steps, warnings, err := hook.Parse(h.Args[1:], known)
	if err == nil && len(warnings) > 0 {
		err = fmt.Errorf("%s: %w", strings.Join(warnings, ", "), errEngine)
	}
	if err != nil {
		return nil, fmt.Errorf("%s hook %s: %w", h.HookName, h.Path, err)
	}
	return steps, nil
}

// injection is an open host file and its path in the container.
type injection struct {
	source *mount.Source
	target string
	node   *cdispecs.DeviceNode // nil for a mount
}

type injections []injection

// openSources opens all files of the host before any file of the container is read. A
// node's numbers are those of the open node, not those of the spec.
func (p *Pending) openSources() (list injections, err error) {
	defer func() {
		if err != nil {
			list.close()
		}
	}()
	for _, node := range p.nodes {
		source, err := mount.Node(hostPath(node))
		if err != nil {
			return list, err
		}
		list = append(list, injection{source, node.Path, node})
	}
	for _, m := range p.mounts {
		source, err := mount.Bind(m.HostPath, slices.Contains(m.Options, "rbind"), slices.Contains(m.Options, "noexec"))
		if err != nil {
			return list, err
		}
		list = append(list, injection{source, m.ContainerPath, nil})
	}
	return list, nil
}

func (list injections) close() {
	for _, g := range list {
		g.source.Close()
	}
}

// deviceRules are the device rules of the nodes, each number once. They never allow mknod,
// even if a spec does.
func (list injections) deviceRules() []devcgroup.Rule {
	var rules []devcgroup.Rule
	for _, g := range list {
		if g.node == nil {
			continue
		}
		d := g.source.Device()
		rule := devcgroup.Rule{Major: d.Major, Minor: d.Minor, ReadOnly: readOnly(g.node)}
		if !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

func readOnly(node *cdispecs.DeviceNode) bool {
	return node.Permissions != "" && !strings.Contains(node.Permissions, "w")
}
