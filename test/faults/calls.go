// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// idle are the system calls with which Go's runtime schedules threads, allocates memory
// and prepares polling. They occur at any time and change no file, so a fault at one of
// them is equivalent to a fault at the next other call.
var idle = []uint64{
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_SCHED_YIELD, unix.SYS_RESTART_SYSCALL,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MPROTECT, unix.SYS_PRCTL,
	unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_EXIT, unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGACTION, unix.SYS_SIGALTSTACK,
	unix.SYS_GETTID, unix.SYS_GETPID, unix.SYS_TGKILL, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL,
}

// looks are the system calls of the toolkit's programs that change no file; openat is
// among them unless it creates the file.
var looks = []uint64{
	unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_STATX, unix.SYS_FCNTL, unix.SYS_FLOCK,
	unix.SYS_GETDENTS64, unix.SYS_READLINKAT, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_FSYNC, unix.SYS_GETEUID, unix.SYS_GETEGID,
	unix.SYS_LLISTXATTR, unix.SYS_LGETXATTR, unix.SYS_FGETXATTR, unix.SYS_GETRANDOM, unix.SYS_NEWFSTATAT,
}

// changes reports whether a call may change a file.
func (c Call) changes() bool {
	if c.Number == unix.SYS_OPENAT {
		return c.Arguments[2]&(unix.O_CREAT|unix.O_TRUNC) != 0
	}
	return !slices.Contains(looks, c.Number)
}

// Stops are the numbers of the calls before which a kill can leave another state than
// the kill before: the first call, and each call that follows a change.
func (e Ended) Stops() []int {
	stops := []int{0}
	for n, call := range e.Calls[:max(len(e.Calls), 1)-1] {
		if call.changes() {
			stops = append(stops, n+1)
		}
	}
	return stops
}

// inspect returns the call at which a thread has stopped, and whether the call is about
// to begin. The kernel reports the call only then.
func inspect(t testing.TB, tid int) (c Call, entered bool) {
	t.Helper()
	var info struct { // struct ptrace_syscall_info
		op   uint8
		_    [3]uint8
		_    uint32
		_, _ uint64
		call Call
		_    uint64
	}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	switch {
	case errors.Is(errno, unix.EIO): // before Linux 5.3
		t.Skip("needs Linux 5.3, to trace system calls")
	case errno != 0 && !errors.Is(errno, unix.ESRCH):
		t.Fatal("trace a child: ", errno)
	}
	return info.call, info.op == unix.PTRACE_SYSCALL_INFO_ENTRY
}
