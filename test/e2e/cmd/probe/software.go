// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/test/report"
)

// software reports what of the host's software is in the container, and whether
// programs find it.
func software(r *report.Report) (err error) {
	r.Env = slices.Sorted(slices.Values(os.Environ()))
	if r.Mounts, err = mounts("/opt/"); err != nil {
		return err
	}
	if r.Cache, err = cache("/etc/ld.so.cache"); err != nil {
		return err
	}
	r.Loads = loads(report.Wanted)
	if found, err := exec.LookPath("mx-smi"); err == nil {
		if r.SMI, err = filepath.EvalSymlinks(found); err != nil {
			return err
		}
	}
	r.Links, err = links("/opt")
	return err
}

// loads asks the dynamic linker where it finds a library.
func loads(library string) string {
	cmd := exec.Command(report.Linker, "--preload", library, "--list", report.CLibrary)
	cmd.Env = []string{}
	text, _ := cmd.Output() // without a linker, or the library, there is nothing to say
	for line := range strings.Lines(string(text)) {
		if name, rest, ok := strings.Cut(line, " => "); ok && strings.TrimSpace(name) == library {
			path, _, _ := strings.Cut(rest, " ")
			return path
		}
	}
	return ""
}

// mounts lists the mounts below a directory.
func mounts(below string) ([]report.Mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var list []report.Mount
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // id parent major:minor root path options…
		if len(fields) < 6 || !strings.HasPrefix(fields[4], below) {
			continue
		}
		options := slices.DeleteFunc(strings.Split(fields[5], ","), func(o string) bool {
			return !slices.Contains([]string{"ro", "rw", "nosuid", "nodev"}, o)
		})
		list = append(list, report.Mount{Path: fields[4], Options: options})
	}
	slices.SortFunc(list, func(a, b report.Mount) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// cache lists the paths that a linker's cache holds: its strings end in a zero byte.
func cache(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var list []string
	for word := range bytes.SplitSeq(data, []byte{0}) {
		if bytes.HasPrefix(word, []byte("/opt/")) || bytes.HasPrefix(word, []byte("/usr/lib/")) {
			list = append(list, string(word))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func links(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := os.Readlink(dir + "/" + e.Name())
		if err != nil {
			return nil, err
		}
		list = append(list, fmt.Sprintf("%s/%s → %s", dir, e.Name(), target))
	}
	return list, nil
}
