// SPDX-License-Identifier: Apache-2.0

// Package machine reports what this machine lacks of a real node, and lets engines run on
// it anyway. The tests and their low-level runtime use the same checks.
package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// CanRaise reports whether root may raise limits here: some virtual machines and containers
// start without CAP_SYS_RESOURCE, and nobody in them can have it.
func CanRaise() bool {
	set, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_RESOURCE, 0, 0, 0)
	return err == nil && set == 1
}

// BareV2 reports whether the tree at root, such as /sys/fs/cgroup, is cgroup version 2 with
// its controllers elsewhere: they stay with version 1 on a machine that mounts both.
func BareV2(root string) bool {
	controllers, err := os.ReadFile(root + "/cgroup.controllers")
	return err == nil && !slices.Contains(strings.Fields(string(controllers)), "cpu")
}

// LacksHugePages reports whether the tree at root is cgroup version 1 without the controller
// of huge pages, which is with version 2 on a machine that mounts both. The kubelet sets its
// limits, and containerd drops them then, unlike CRI-O.
func LacksHugePages(root string) bool {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}
	return exists("memory") && !exists("hugetlb")
}

// FitRuntimes puts the program lowlevel in front of runc and crun of the engines below root,
// if the machine lacks something that they need. It returns what that is, empty if nothing.
func FitRuntimes(root, lowlevel string) (lacks string, err error) {
	var list []string
	if !CanRaise() {
		list = append(list, "no CAP_SYS_RESOURCE")
	}
	if BareV2(filepath.Join(root, "sys/fs/cgroup")) {
		list = append(list, "no controllers in cgroup v2")
	}
	if LacksHugePages(filepath.Join(root, "sys/fs/cgroup")) {
		list = append(list, "no huge pages in cgroup v1")
	}
	if len(list) == 0 {
		return "", nil
	}
	shim, err := os.ReadFile(lowlevel)
	if err != nil {
		return "", err
	}
	for _, path := range []string{"usr/sbin/runc", "usr/bin/crun"} {
		at := filepath.Join(root, path)
		err := os.Rename(at, at+".real")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(at, shim, 0o755)); err != nil {
			return "", err
		}
	}
	return strings.Join(list, " and "), nil
}
