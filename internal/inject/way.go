package inject

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
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
		return fmt.Sprintf("the docker daemon has no CDI device %s that mounts %s: run metax-ctk cdi generate, or use --inject=flags", names, e.Dir)
	}
	return fmt.Sprintf("the docker daemon does not list %s: run metax-ctk cdi generate, check that CDI is on (metax-ctk doctor), or use --inject=flags", names)
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
	listed, err := d.info.lists(names)
	if listed || d.asked == nil {
		return listed, err
	}
	asked := d.asked()
	if asked.err != nil {
		return false, asked.err
	}
	return asked.info.lists(names)
}

// lists reports whether a daemon resolves all of the names: from Docker 28.2 on it says so
// itself; before, the directories that it reads show it.
func (i info) lists(names []string) (bool, error) {
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

func resolve(dirs, names []string) (*specs.ContainerEdits, error) {
	host, err := hostfs.New("/")
	if err != nil {
		return nil, err
	}
	return cdi.Resolve(host, dirs, names)
}

// outdated reports whether the specs that define CDI devices do not mount a directory of
// this machine. For a spec that cannot be read here, what the daemon says counts.
func (d Daemon) outdated(names []string, dir string) bool {
	dirs := d.info.CDISpecDirs
	if len(dirs) == 0 {
		dirs = docker.specDirs
	}
	e, err := resolve(dirs, names)
	return err == nil && !slices.ContainsFunc(e.Mounts, func(m *specs.Mount) bool { return m.HostPath == dir })
}
