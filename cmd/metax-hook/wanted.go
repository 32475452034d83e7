package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	cdispecs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/hook"
	"github.com/metax-ctk/container-toolkit/internal/hook/devcgroup"
	"github.com/metax-ctk/container-toolkit/internal/hook/mount"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/oci"
)

// errEngine reports an edit that needs an engine.
var errEngine = errors.New("a hook of this stage cannot do that: use CDI, or the stage precreate")

// requested returns the edits that a container asks for; nil if it asks for none.
func requested(config *oci.Config, policy oci.Policy, dirs []string) (*cdispecs.ContainerEdits, error) {
	names, err := config.Request(policy)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	host, err := hostfs.New("/")
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		dirs = cdi.Dirs()
	}
	return cdi.Resolve(host, dirs, names)
}

// wanted is what a container that is being made still needs of its edits.
type wanted struct {
	nodes   []*cdispecs.DeviceNode
	mounts  []*cdispecs.Mount
	actions []string // the command line of the spec's hooks, which are ours
	missing []string // variables, which are beyond a hook
}

// nothing reports whether an engine or an earlier stage has brought all of it: then
// it has brought the hooks, the groups and the environment as well.
func (w *wanted) nothing() bool { return len(w.nodes) == 0 && len(w.mounts) == 0 }

func wants(edits *cdispecs.ContainerEdits, config *oci.Config) (*wanted, error) {
	if len(edits.NetDevices) > 0 || edits.IntelRdt != nil {
		return nil, fmt.Errorf("network devices and cache allocation: %w", errEngine)
	}
	w := &wanted{}
	for _, node := range edits.DeviceNodes {
		if node.Type != "" && node.Type != "c" && node.Type != "u" {
			return nil, fmt.Errorf("device node %s of type %q: %w", node.Path, node.Type, errEngine)
		}
		if node.Permissions != "" && !strings.Contains(node.Permissions, "r") {
			return nil, fmt.Errorf("device node %s with permissions %q: %w", node.Path, node.Permissions, errEngine)
		}
		if !made(node, config.Devices()) {
			w.nodes = append(w.nodes, node)
		}
	}
	for i, m := range edits.Mounts {
		if err := bindable(m); err != nil {
			return nil, fmt.Errorf("mount on %s: %w", m.ContainerPath, err)
		}
		again := func(o *cdispecs.Mount) bool { return same(o.ContainerPath, m.ContainerPath) }
		if slices.ContainsFunc(edits.Mounts[i+1:], again) {
			continue // of several devices' mounts on one place, engines take the last
		}
		there := func(o oci.Mount) bool { return same(o.Destination, m.ContainerPath) && same(o.Source, m.HostPath) }
		if !slices.ContainsFunc(config.Mounts(), there) {
			w.mounts = append(w.mounts, m)
		}
	}
	for _, h := range edits.Hooks {
		if err := ours(h); err != nil {
			return nil, err
		}
		w.actions = append(w.actions, h.Args[1:]...)
	}
	for _, v := range edits.Env {
		if !slices.Contains(config.Env(), v) {
			w.missing = append(w.missing, v)
		}
	}
	return w, nil
}

// made reports whether the runtime makes the node, with the number that the host's
// has now. What is unknown of the host's is found out where it is taken.
func made(node *cdispecs.DeviceNode, devices []oci.Device) bool {
	var st unix.Stat_t
	if err := unix.Stat(hostPath(node), &st); err != nil {
		return false
	}
	return slices.ContainsFunc(devices, func(d oci.Device) bool {
		return same(d.Path, node.Path) && d.Type != "b" && uint64(st.Rdev) == unix.Mkdev(uint32(d.Major), uint32(d.Minor))
	})
}

func hostPath(node *cdispecs.DeviceNode) string { return cmp.Or(node.HostPath, node.Path) }

func same(a, b string) bool { return filepath.Clean(a) == filepath.Clean(b) }

// bindable fails for a mount that is not a read-only one of the host's files.
func bindable(m *cdispecs.Mount) error {
	if m.Type != "" && m.Type != "bind" && m.Type != "none" {
		return fmt.Errorf("type %q: %w", m.Type, errEngine)
	}
	if !slices.Contains(m.Options, "ro") {
		return fmt.Errorf("it is to be writable: %w", errEngine)
	}
	known := []string{"ro", "bind", "rbind", "nosuid", "nodev", "noexec", "private", "rprivate", "slave", "rslave"}
	for _, option := range m.Options {
		if !slices.Contains(known, option) {
			return fmt.Errorf("option %q: %w", option, errEngine)
		}
	}
	return nil
}

// ours fails for a hook that is not this program's own, with actions that it has
// in the stage createContainer.
func ours(h *cdispecs.Hook) error {
	if filepath.Base(h.Path) != "metax-hook" || len(h.Args) == 0 || h.HookName != "createContainer" {
		return fmt.Errorf("%s hook %s: %w", h.HookName, h.Path, errEngine)
	}
	// An action that is unknown is an error here: the container would lack it.
	_, warnings, err := hook.Parse(h.Args[1:], map[string][]string{
		"create-symlinks": createSymlinks.options, "update-ldcache": updateLdcache.options,
	})
	if err == nil && len(warnings) > 0 {
		err = fmt.Errorf("%s: %w", strings.Join(warnings, ", "), errEngine)
	}
	if err != nil {
		return fmt.Errorf("%s hook %s: %w", h.HookName, h.Path, err)
	}
	return nil
}

// gift is a file of the host, in hand, and where it goes.
type gift struct {
	source *mount.Source
	at     string
	node   *cdispecs.DeviceNode // nil for a mount
}

type gifts []gift

// take takes everything from the host before the container is looked at. What a
// spec says of a node's numbers does not count: they are the node's own.
func (w *wanted) take() (list gifts, err error) {
	defer func() {
		if err != nil {
			list.close()
		}
	}()
	var kernel mount.Kernel
	for _, node := range w.nodes {
		source, err := kernel.Node(hostPath(node))
		if err != nil {
			return list, err
		}
		list = append(list, gift{source, node.Path, node})
	}
	for _, m := range w.mounts {
		source, err := kernel.Bind(m.HostPath, slices.Contains(m.Options, "rbind"), slices.Contains(m.Options, "noexec"))
		if err != nil {
			return list, err
		}
		list = append(list, gift{source, m.ContainerPath, nil})
	}
	return list, nil
}

func (list gifts) close() {
	for _, g := range list {
		g.source.Close()
	}
}

// rules are those of the nodes, each number once. To make a node is never allowed,
// whatever a spec says.
func (list gifts) rules() []devcgroup.Rule {
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
