// SPDX-License-Identifier: Apache-2.0

package mxmaca

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// KeepFree is the percentage of the host's file system that stays free: with less, the kubelet
// begins to evict pods.
const KeepFree = 10

// checkFreeSpace fails with NoSpace if a file system has not this much room beside the
// percentage that stays free.
func checkFreeSpace(dir string, bytes, entries, keep int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("find the free space of %s: %w", dir, err)
	}
	return room(bytes+entries*st.Bsize, int64(st.Bavail)*st.Bsize, int64(st.Blocks)*st.Bsize, keep)
}

func room(need, free, total, keep int64) error {
	const GiB = 1 << 30
	kept := total / 100 * keep
	if free-need >= kept {
		return nil
	}
	return &Error{NoSpace, fmt.Errorf(
		"it needs %.1f GiB, of which %s has %.1f GiB free and keeps %.1f GiB; make room, or set maca.cleanupConfig",
		float64(need)/GiB, parent, float64(free)/GiB, float64(kept)/GiB)}
}
