package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// given is what a container gets.
type given struct {
	GPUs   []gpu.GPU
	Slices []gpu.Slice
	Shared gpu.Shared
	// Driver is the directory of the driver's user-space part, empty for none.
	Driver string
	// Root is where the node's "/" is on this machine.
	Root string
}

// newGiven is what every container on the node gets, without GPUs yet.
func newGiven(node gpu.Node, root config.Value) (given, error) {
	path, err := rootOf(root)
	if err != nil {
		return given{}, err
	}
	g := given{Root: path}
	if node.Shared != nil {
		g.Shared = *node.Shared
	}
	if node.Driver != nil {
		g.Driver = node.Driver.Path
	}
	return g, nil
}

// rootOf is where the node's "/" is on this machine.
func rootOf(root config.Value) (string, error) {
	path, err := filepath.Abs(root.Text)
	if err != nil {
		return "", fmt.Errorf("resolve root %q: %w", root.Text, err)
	}
	if strings.Contains(path, ":") {
		return "", fmt.Errorf("root %q (from %s) has a colon, which docker takes for the end of a path", path, root.Origin)
	}
	return path, nil
}

// flags are it by plain devices and volumes.
func (g given) flags() compose.Given {
	out := compose.Given{Groups: g.groups()}
	var nodes []string
	for _, one := range g.GPUs {
		nodes = append(nodes, one.Nodes...)
	}
	for _, path := range slices.Concat(nodes, g.sliceNodes(), g.Shared.Nodes) {
		out.Devices = append(out.Devices, filepath.Join(g.Root, path)+":"+path+":rw")
	}
	if g.Driver != "" {
		out.Volumes = []string{filepath.Join(g.Root, g.Driver) + ":" + g.Driver + ":ro"}
	}
	return out
}

// cdi are it by CDI device. The groups are repeated because Docker before 29.5
// forgets those of a CDI spec when --user is given.
func (g given) cdi() compose.Given { return compose.Given{Names: g.cdiNames(), Groups: g.groups()} }

// dockerOptions are docker's options for what a container gets, but for labels.
func dockerOptions(g compose.Given) []string {
	var out []string
	for _, option := range []struct {
		name   string
		values []string
	}{{"device", g.Names}, {"device", g.Devices}, {"volume", g.Volumes}, {"group-add", g.Groups}} {
		for _, value := range option.values {
			out = append(out, "--"+option.name+"="+value)
		}
	}
	return out
}

func (g given) cdiNames() []string {
	var names []string
	for _, one := range g.GPUs {
		names = append(names, request.CDIKind+"="+one.Name())
	}
	for _, one := range g.Slices {
		names = append(names, request.SliceKind+"="+one.Name())
	}
	return names
}

// sliceNodes are the nodes of all slices; those of one GPU have one in common.
func (g given) sliceNodes() []string {
	var all []string
	for _, one := range g.Slices {
		for _, path := range one.Nodes {
			if !slices.Contains(all, path) {
				all = append(all, path)
			}
		}
	}
	return all
}

func (g given) groups() []string {
	gids := slices.Clone(g.Shared.GIDs)
	for _, one := range g.GPUs {
		gids = append(gids, one.GIDs...)
	}
	for _, one := range g.Slices {
		gids = append(gids, one.GIDs...)
	}
	slices.Sort(gids)
	var out []string
	for _, gid := range slices.Compact(gids) {
		out = append(out, strconv.FormatUint(uint64(gid), 10))
	}
	return out
}

// lists reports whether a daemon resolves all of the names: by its own word from
// Docker 28.2 on, before that by the directories that it reads.
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
		if !slices.ContainsFunc(i.DiscoveredDevices, func(d struct{ Source, ID string }) bool { return d.ID == name }) {
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

// specDirs are the directories of specs that the daemon reads.
func (i info) specDirs() []string {
	if len(i.CDISpecDirs) > 0 {
		return i.CDISpecDirs
	}
	return dockerSetup.specDirs
}

// stale reports whether the specs that define a CDI device are older than what they
// speak of: it does not bring the directory of this machine that it should. Of a
// spec that cannot be read here the daemon's word counts.
func stale(dirs []string, name, dir string) bool {
	edits, err := resolve(dirs, []string{name})
	return err == nil && !slices.ContainsFunc(edits.Mounts, func(m *specs.Mount) bool { return m.HostPath == dir })
}
