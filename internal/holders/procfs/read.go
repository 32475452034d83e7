// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// readAt reads a file of /proc with a single read(2), because the kernel generates the text
// per read; what does not fit into buf is cut off.
func readAt(dir int, path string, buf []byte) ([]byte, error) {
	return readEntry(dir, cstring(path+"\x00"), buf)
}

func openAt(dir int, path string, flags int) (int, error) {
	return openEntry(dir, cstring(path+"\x00"), flags)
}

// closeFD closes a file or directory, ignoring the error: nothing was written.
func closeFD(fd int) { unix.Close(fd) }

// eachName calls f with the names in a directory until f returns false. f may keep name;
// buf is overwritten.
func eachName(dir int, buf []byte, f func(name string) bool) error {
	return eachEntry(dir, buf, func(name cstring) bool { return f(name.text()) })
}

// isProcessGone reports whether an error only says that the process has ended.
func isProcessGone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// isAccessDenied reports whether an error says that this user may not inspect the process.
func isAccessDenied(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// statDescriptor stats what an entry of /proc/PID/fd leads to. AT_STATX_DONT_SYNC uses
// cached attributes, so an unresponsive NFS or FUSE server cannot block us. Only the
// fallback, without statx, can block.
func statDescriptor(dir int, name string) (unix.Statx_t, bool) {
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

// openProc opens the directory of all processes; the caller closes it.
func (p *Proc) openProc() (int, error) {
	dir, err := openAt(unix.AT_FDCWD, p.dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", p.dir, err)
	}
	return dir, nil
}
