package devcgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Version is a cgroup version.
type Version int

// The versions.
const (
	V1 Version = 1
	V2 Version = 2
)

// Group is a cgroup that may hold device rules.
type Group struct {
	Version Version
	Dir     string // where it is mounted
}

// Process says where a process stands: the text of its /proc/PID/cgroup.
type Process string

// ErrOutside reports a container's cgroup that this process's cgroup namespace
// does not hold.
var ErrOutside = errors.New("the container's cgroup is out of reach")

// Find returns the cgroups whose device rules are the container's alone, in
// both versions where a machine has both, outer ones first: the one that its
// first process is in, and those above it up to the last that bears the
// container's id in its name, as the scope does that systemd makes around a
// runtime's own group. A container that was left in the cgroup of this very
// process, self, has none. Mounts is the text of /proc/self/mountinfo.
func Find(container, self Process, id string, mounts io.Reader) ([]Group, error) {
	table, err := mountinfo.GetMountsFromReader(mounts, func(m *mountinfo.Info) (skip, stop bool) {
		return m.FSType != "cgroup" && m.FSType != "cgroup2", false
	})
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	var list []Group
	for _, version := range []Version{V1, V2} {
		at, ok := container.path(version)
		if own, _ := self.path(version); !ok || own == at {
			continue
		}
		if !slices.ContainsFunc(table, version.is) {
			continue // nobody here could have set rules
		}
		for _, name := range alone(at, id) {
			dir, ok := locate(table, version, name)
			if strings.HasPrefix(at+"/", "/../") || !ok && len(list) == 0 {
				return nil, fmt.Errorf("%w: %s", ErrOutside, name)
			}
			if ok { // where version 1 rules, version 2 need not
				list = append(list, Group{version, dir})
			}
		}
	}
	return list, nil
}

// path returns the process's cgroup in the hierarchy that rules over devices.
// A line is ID:CONTROLLERS:PATH; the one of version 2 has no controllers.
func (p Process) path(v Version) (string, bool) {
	for line := range strings.Lines(string(p)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "/") {
			continue
		}
		switch v {
		case V1:
			if slices.Contains(strings.Split(fields[1], ","), "devices") {
				return fields[2], true
			}
		case V2:
			if fields[0] == "0" && fields[1] == "" {
				return fields[2], true
			}
		}
	}
	return "", false
}

// alone lists the cgroups on the way to at that are the container's alone. One
// above it bears the id as a name, or as the end of one that an engine made; a word
// somewhere in a name may as well be that of a slice, which is everybody's.
func alone(at, id string) []string {
	list, count := []string{at}, 1
	for above := path.Dir(at); above != "/" && above != "."; above = path.Dir(above) {
		list = append(list, above)
		name := strings.TrimSuffix(path.Base(above), ".scope")
		if name == id && path.Base(at) != id || id != "" && strings.HasSuffix(name, "-"+id) {
			count = len(list)
		}
	}
	list = list[:count]
	slices.Reverse(list)
	return list
}

// is reports whether a mount is one of the hierarchy that rules over devices.
func (v Version) is(m *mountinfo.Info) bool {
	if v == V1 {
		return m.FSType == "cgroup" && slices.Contains(strings.Split(m.VFSOptions, ","), "devices")
	}
	return m.FSType == "cgroup2"
}

// locate returns the directory of a cgroup. A hierarchy may be mounted several
// times, also from below its root, and some mounts may hide others.
func locate(table []*mountinfo.Info, v Version, name string) (string, bool) {
	for _, m := range table {
		if !v.is(m) {
			continue
		}
		below, err := filepath.Rel(m.Root, name)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue
		}
		dir := filepath.Join(m.Mountpoint, below)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, true
		}
	}
	return "", false
}

// Allow adds the rules to what the group allows. Its parents are not asked: one
// that denies still denies in version 2, and makes this fail in version 1.
func (g Group) Allow(rules []Rule) error {
	if len(rules) == 0 {
		return nil
	}
	var err error
	if g.Version == V1 {
		err = allowByFile(g.Dir, rules)
	} else {
		err = allowByProgram(g.Dir, rules)
	}
	if err != nil {
		return fmt.Errorf("widen the device cgroup %s: %w", g.Dir, err)
	}
	return nil
}
