// SPDX-License-Identifier: Apache-2.0

package devcgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrParent reports a cgroup of version 1 whose parent denies the device; the kernel
// then refuses to allow it below.
var ErrParent = errors.New("the cgroup above it denies the device")

func allowByFile(dir string, rules []Rule) error {
	//nolint:gosec // G304: dir is from the kernel's lists of cgroups and mounts, see Find
	f, err := os.OpenFile(filepath.Join(dir, "devices.allow"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open devices.allow: %w", err)
	}
	defer f.Close()
	for _, r := range rules {
		// The kernel takes one rule in one write.
		_, err := fmt.Fprintf(f, "c %d:%d %s", r.Major, r.Minor, r.access())
		if errors.Is(err, unix.EPERM) {
			err = ErrParent
		}
		if err != nil {
			return fmt.Errorf("allow %d:%d: %w", r.Major, r.Minor, err)
		}
	}
	return nil
}

// access is the access in the syntax of version 1.
func (r Rule) access() string {
	if r.ReadOnly {
		return "r"
	}
	return "rw"
}
