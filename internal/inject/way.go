// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// UnlistedError reports CDI devices that the daemon does not resolve, although CDI is the
// requested way.
type UnlistedError struct {
	Names []string
	// Dir is the directory of MXMACA that they do not mount; empty for GPUs.
	Dir string
}

// Error names what to do next.
func (e *UnlistedError) Error() string {
	names := strings.Join(e.Names, ", ")
	if e.Dir != "" {
		return fmt.Sprintf(
			"the docker daemon has no CDI device %s that mounts %s: run metax-ctk cdi generate, or use --inject=flags", names, e.Dir)
	}
	return fmt.Sprintf(
		"the docker daemon does not list %s: run metax-ctk cdi generate, check that CDI is on (metax-ctk doctor), or use --inject=flags", names)
}

// ByName reports whether the engine is to be told CDI names, or devices and mounts one by
// one. Requested is dockerargs.InjectAuto, InjectCDI or InjectFlags; dir is a directory of
// this machine that the CDI devices must mount; empty if any definition will do. Doubt is
// why it could not be found out whether the daemon resolves the names.
//
// If the daemon does not answer, docker is about to report why; one by one is right for
// every daemon. The error is an *UnlistedError.
func (d Daemon) ByName(names []string, dir, requested string) (byName bool, doubt, err error) {
	if d.err != nil {
		return requested == dockerargs.InjectCDI, nil, nil
	}
	byName, doubt = d.lists(names)
	if byName = byName && (dir == "" || !d.outdated(names, dir)); !byName && requested == dockerargs.InjectCDI {
		return false, nil, &UnlistedError{Names: names}
	}
	return byName, doubt, nil
}

// lists reports whether the daemon resolves all of the names. If the files do not define
// them, the daemon may read other files: it is asked.
func (d Daemon) lists(names []string) (bool, error) {
	listed, err := d.info.lists(names, d.resolve)
	if listed || d.asked == nil {
		return listed, err
	}
	asked := d.asked()
	if asked.err != nil {
		return false, asked.err
	}
	return asked.info.lists(names, d.resolve)
}

// lists reports whether a daemon resolves all of the names: from Docker 28.2 on it says so
// itself; before, the directories that it reads show it.
func (i info) lists(names []string, resolve resolver) (bool, error) {
	if i.DiscoveredDevices == nil {
		_, err := resolve(i.CDISpecDirs, names)
		var missing *cdi.UnresolvedError
		if errors.As(err, &missing) && missing.Faults == nil {
			return false, nil
		}
		return err == nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(i.DiscoveredDevices, func(d discovered) bool { return d.ID == name }) {
			return false, nil
		}
	}
	return true, nil
}

// resolver returns the edits of CDI devices by the specs in directories of this machine.
type resolver func(dirs, names []string) (*specs.ContainerEdits, error)

func resolve(dirs, names []string) (*specs.ContainerEdits, error) {
	host, err := hostfs.New("/")
	if err != nil {
		return nil, err
	}
	return cdi.Resolve(host, dirs, names)
}

// resolution is what a resolver returned, by its arguments.
type resolution struct {
	edits *specs.ContainerEdits
	err   error
}

// resolve is a resolver that parses the specs once for the same names.
func (d Daemon) resolve(dirs, names []string) (*specs.ContainerEdits, error) {
	key := strings.Join(dirs, "\n") + "\x00" + strings.Join(names, "\n")
	if r, ok := d.resolved[key]; ok {
		return r.edits, r.err
	}
	e, err := resolve(dirs, names)
	if d.resolved != nil {
		d.resolved[key] = resolution{e, err}
	}
	return e, err
}

// outdated reports whether the specs that define CDI devices do not mount a directory of
// this machine. For a spec that cannot be read here, what the daemon says counts.
func (d Daemon) outdated(names []string, dir string) bool {
	e, err := d.resolve(d.info.CDISpecDirs, names)
	return err == nil && !slices.ContainsFunc(e.Mounts, func(m *specs.Mount) bool { return m.HostPath == dir })
}

// OutdatedError reports CDI specs that do not give what the node has.
type OutdatedError struct{ Difference string }

func (e *OutdatedError) Error() string {
	return "the CDI spec is out of date (" + e.Difference + "). To refresh it: sudo metax-ctk cdi generate"
}

// Compare compares the specs that define the CDI devices of the edits with the edits: their
// device nodes have to be the same below /dev/dri, where each belongs to one GPU, and
// whatever the specs name has to exist. The error is an *OutdatedError. For a spec that
// cannot be read here, and for an engine that does not say which directories it reads, what
// the engine says counts.
func (d Daemon) Compare(e edits.Edits) error {
	spec, err := d.resolve(d.info.CDISpecDirs, e.Names)
	if err != nil {
		return nil
	}
	host, err := hostfs.New("/")
	if err != nil {
		return err
	}
	var named, wanted []string
	for _, node := range spec.DeviceNodes {
		named = append(named, cmp.Or(node.HostPath, node.Path))
	}
	for _, device := range e.Devices {
		wanted = append(wanted, device.HostPath)
		if !slices.Contains(named, device.HostPath) {
			return &OutdatedError{"it lacks " + device.HostPath}
		}
	}
	for _, path := range named {
		if strings.Contains(path, "/dev/dri/") && !slices.Contains(wanted, path) {
			return &OutdatedError{path + " is not of these GPUs any more"}
		}
	}
	for _, mount := range spec.Mounts {
		named = append(named, mount.HostPath)
	}
	for _, path := range named {
		// The engine reaches what this user may not.
		if _, err := host.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return &OutdatedError{path + " does not exist"}
		}
	}
	return nil
}
