// SPDX-License-Identifier: Apache-2.0

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

// The versions of cgroups.
const (
	V1 Version = 1
	V2 Version = 2
)

// Group is a cgroup that can have device rules.
type Group struct {
	Version Version
	Dir     string // where it is mounted
}

// Rule allows one character device.
type Rule struct {
	Major, Minor uint32
	// ReadOnly does not allow to write.
	ReadOnly bool
}

// Process is the text of a process's /proc/PID/cgroup, which names its cgroups.
type Process string

// ErrOutside reports a container's cgroup that is outside this process's cgroup
// namespace.
var ErrOutside = errors.New("the container's cgroup is outside of this cgroup namespace")

// Find returns the cgroups whose device rules apply only to the container, of both
// versions if the machine has both, outer ones first: the one of the container's first
// process, and those above it up to the last whose name contains the container's id,
// such as the scope that systemd makes around a runtime's own group. A container in the
// cgroup of this process, self, has none. mounts is the text of /proc/self/mountinfo.
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
		if !slices.ContainsFunc(table, version.isDeviceHierarchy) {
			continue // without the hierarchy nobody could have set rules
		}
		for _, name := range ownCgroups(at, id) {
			dir, ok := cgroupDir(table, version, name)
			if strings.HasPrefix(at+"/", "/../") || (!ok && len(list) == 0) {
				return nil, fmt.Errorf("%w: %s", ErrOutside, name)
			}
			if ok { // with rules in version 1, version 2 may be missing
				list = append(list, Group{version, dir})
			}
		}
	}
	return list, nil
}

// path returns the process's cgroup in the hierarchy with the device rules. A line is
// ID:CONTROLLERS:PATH; the line of version 2 has no controllers.
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

// ownCgroups lists the cgroups on the path at that belong only to the container. One
// above at must have the id as its name, or as the end of a name that an engine made:
// the id elsewhere in a name could be part of the name of a slice, which many share.
func ownCgroups(at, id string) []string {
	list, count := []string{at}, 1
	for above := path.Dir(at); above != "/" && above != "."; above = path.Dir(above) {
		list = append(list, above)
		name := strings.TrimSuffix(path.Base(above), ".scope")
		if (name == id && path.Base(at) != id) || (id != "" && strings.HasSuffix(name, "-"+id)) {
			count = len(list)
		}
	}
	list = list[:count]
	slices.Reverse(list)
	return list
}

// isDeviceHierarchy reports whether a mount is of the hierarchy with the device rules.
func (v Version) isDeviceHierarchy(m *mountinfo.Info) bool {
	if v == V1 {
		return m.FSType == "cgroup" && slices.Contains(strings.Split(m.VFSOptions, ","), "devices")
	}
	return m.FSType == "cgroup2"
}

// cgroupDir returns the directory of a cgroup. A hierarchy may be mounted several
// times, also from below its root, and one mount may hide another.
func cgroupDir(table []*mountinfo.Info, v Version, name string) (string, bool) {
	for _, m := range table {
		if !v.isDeviceHierarchy(m) {
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

// Allow adds the rules to what the group allows, without its parents: if a parent
// denies a device, version 2 still denies it, and version 1 makes this fail.
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
