package mxmaca

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fits fails with NoSpace if a file system has not this much room. A tenth stays free: with less, the kubelet
// begins to evict pods.
func fits(dir string, bytes, entries int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("find the free space of %s: %w", dir, err)
	}
	return room(bytes+entries*st.Bsize, int64(st.Bavail)*st.Bsize, int64(st.Blocks)*st.Bsize)
}

func room(need, free, total int64) error {
	const GiB = 1 << 30
	if free-need >= total/10 {
		return nil
	}
	return &Error{NoSpace, fmt.Errorf("it needs %.1f GiB, of which %s has %.1f GiB free and keeps %.1f GiB; make room, or set maca.cleanupConfig",
		float64(need)/GiB, parent, float64(free)/GiB, float64(total/10)/GiB)}
}
