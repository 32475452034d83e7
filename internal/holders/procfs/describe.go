package procfs

import (
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"golang.org/x/sys/unix"
)

// describe stats what an entry of /proc/PID/fd leads to, as it is known here:
// no server is asked, so that none can keep us waiting.
func describe(dir int, name string) (unix.Statx_t, bool) {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &st)
	if err == nil {
		return st, true
	}
	if err != unix.ENOSYS && err != unix.EPERM {
		return st, false
	}
	// Before Linux 4.11, or forbidden by an old seccomp filter.
	var old unix.Stat_t
	if unix.Fstatat(dir, name, &old, 0) != nil {
		return st, false
	}
	st.Mode = uint16(old.Mode)
	st.Rdev_major, st.Rdev_minor = unix.Major(uint64(old.Rdev)), unix.Minor(uint64(old.Rdev))
	return st, true
}

func number(st unix.Statx_t) holders.Number {
	return holders.Number{Major: st.Rdev_major, Minor: st.Rdev_minor}
}
