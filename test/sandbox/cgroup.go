// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Layout is one of the ways a machine mounts its cgroups.
type Layout string

const (
	// V1 has one hierarchy for each controller and no unified one.
	V1 Layout = "v1"
	// Hybrid is V1 with the unified hierarchy at /sys/fs/cgroup/unified.
	Hybrid Layout = "hybrid"
	// V2 is the unified hierarchy alone.
	V2 Layout = "v2"
)

const cgroupDir = "/sys/fs/cgroup"

// Available returns why this machine cannot provide the layout, nil if it can.
func (l Layout) Available() error {
	if l == V2 {
		return nil
	}
	_, err := v1Hierarchies()
	return err
}

// mount mounts the layout on dir. Hierarchies belong to the kernel, not to the namespace:
// these are the machine's own, mounted again.
func (l Layout) mount(dir string) error {
	if l == V2 {
		return mount("cgroup2", dir, "cgroup2", 0, "")
	}
	hierarchies, err := v1Hierarchies()
	if err != nil {
		return err
	}
	if err := mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, options := range hierarchies {
		at := filepath.Join(dir, strings.TrimPrefix(options, "name="))
		if err := mkdirs(at); err != nil {
			return err
		}
		if strings.HasPrefix(options, "name=") {
			options = "none," + options
		}
		if err := mount("cgroup", at, "cgroup", 0, options); err != nil {
			return err
		}
	}
	if l == V1 {
		return nil
	}
	unified := filepath.Join(dir, "unified")
	return errors.Join(mkdirs(unified), mount("cgroup2", unified, "cgroup2", 0, ""))
}

// errPureV2 reports a machine that cannot show version 1: its controllers are all in use by
// the unified hierarchy, and a controller is in one hierarchy at a time.
var errPureV2 = errors.New("this machine has no cgroup v1 hierarchy, so only rows of layout v2 can run here")

// v1Hierarchies lists the mount options of the machine's version 1 hierarchies.
func v1Hierarchies() ([]string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(line, ":", 3)   // id:controllers:path
		if len(fields) == 3 && fields[1] != "" { // the unified hierarchy has no controllers here
			list = append(list, fields[1])
		}
	}
	if len(list) == 0 {
		return nil, errPureV2
	}
	return list, nil
}

// remove deletes the cgroup name, with all below it, from every hierarchy of the layout.
// The kernel takes a moment to let go of the dead, so it asks again for a while.
func (l Layout) remove(name string) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		err := removeOnce(name)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func removeOnce(name string) error {
	roots, err := filepath.Glob(filepath.Join(cgroupDir, "*", name))
	if err != nil {
		return err
	}
	var errs []error
	for _, root := range append(roots, filepath.Join(cgroupDir, name)) {
		errs = append(errs, removeTree(root))
	}
	return errors.Join(errs...)
}

// removeTree removes cgroup directories, the deepest first. Their files go with them.
func removeTree(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list the cgroups of %s: %w", root, err)
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := unix.Rmdir(dirs[i]); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove the cgroup %s: %w", dirs[i], err)
		}
	}
	return nil
}
