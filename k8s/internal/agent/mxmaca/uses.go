// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// versionsInUse returns the versions that some process has mounted from opt, by the mounts of
// all processes in proc: every container that was given a version has its directory as a
// mount, also while it is paused. Where it is mounted, and what is mounted from elsewhere,
// does not count, because anyone who starts a container chooses that.
func versionsInUse(proc, opt string) (map[string]bool, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("find the versions in use: %w", err)
	}
	// Where /proc hides the processes of others, nothing would seem to be in use.
	if _, err := os.Stat(filepath.Join(proc, "1/mountinfo")); err != nil {
		return nil, fmt.Errorf(
			"find the versions in use: the processes of the host cannot be seen: %w; mount its /proc without hidepid", err)
	}
	at, err := placeOf(proc, opt)
	if err != nil {
		return nil, fmt.Errorf("find the versions in use: %w", err)
	}
	used := map[string]bool{}
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		err := eachMount(filepath.Join(proc, entry.Name()), func(m mount) {
			below, ok := strings.CutPrefix(m.dir, at.dir+"/")
			if !ok || m.device != at.device {
				return
			}
			for name := range strings.SplitSeq(below, "/") {
				if version, ok := strings.CutPrefix(strings.TrimSuffix(name, `\040(deleted)`), prefix); ok {
					used[version] = true
				}
			}
		})
		// A process that has ended uses nothing.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) &&
			!errors.Is(err, syscall.EINVAL) {
			return nil, fmt.Errorf("find the versions in use: %w", err)
		}
	}
	return used, nil
}

// mount is a line of mountinfo.
type mount struct {
	device string // MAJOR:MINOR of the file system
	dir    string // what is mounted, in the file system
	point  string // where
}

// eachMount calls do for each mount of a process, whose directory in /proc it is given.
func eachMount(process string, do func(mount)) error {
	file, err := os.Open(filepath.Join(process, "mountinfo")) //nolint:gosec // G304: the kernel's, of a process
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) >= 5 {
			do(mount{fields[2], fields[3], fields[4]})
		}
	}
	return lines.Err()
}

// placeOf returns in which file system a directory of this process is, and where there.
func placeOf(proc, dir string) (at mount, err error) {
	err = eachMount(filepath.Join(proc, "self"), func(m mount) {
		below, ok := strings.CutPrefix(dir, strings.TrimSuffix(m.point, "/"))
		// the last of several at a place is on top
		if ok && (below == "" || below[0] == '/') && len(m.point) >= len(at.point) {
			at = mount{m.device, strings.TrimSuffix(strings.TrimSuffix(m.dir, "/")+below, "/"), m.point}
		}
	})
	if err == nil && at.point == "" {
		err = fmt.Errorf("no mount of this process has %s", dir)
	}
	return at, err
}
