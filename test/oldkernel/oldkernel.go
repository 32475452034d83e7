// SPDX-License-Identifier: Apache-2.0

package oldkernel

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/test/needs"
)

// calls are system calls and the error with which each fails.
type calls map[uint32]unix.Errno

// mountCalls are the calls that mount by handles, all new in Linux 5.2.
var mountCalls = []uint32{
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
}

// kernels are the refusals of each kind of kernel, by its name. The calls that have
// nothing to do with mounts are those that Go or the toolkit makes where they exist.
var kernels = map[string]calls{
	"before 5.2": refuse(unix.ENOSYS, append(mountCalls,
		unix.SYS_MOUNT_SETATTR, unix.SYS_OPENAT2, unix.SYS_CLOSE_RANGE, unix.SYS_FACCESSAT2, unix.SYS_CLONE3,
		unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PIDFD_GETFD)...),
	"5.2 to 5.5":     refuse(unix.ENOSYS, unix.SYS_MOUNT_SETATTR, unix.SYS_OPENAT2, unix.SYS_CLOSE_RANGE, unix.SYS_FACCESSAT2),
	"5.6 to 5.11":    refuse(unix.ENOSYS, unix.SYS_MOUNT_SETATTR),
	"no openat2":     refuse(unix.ENOSYS, unix.SYS_OPENAT2),
	"no move_mount":  refuse(unix.ENOSYS, unix.SYS_MOVE_MOUNT),
	"no fsopen":      refuse(unix.ENOSYS, unix.SYS_FSOPEN),
	"no open_tree":   refuse(unix.ENOSYS, unix.SYS_OPEN_TREE),
	"seccomp":        refuse(unix.EPERM, append(mountCalls, unix.SYS_MOUNT_SETATTR, unix.SYS_OPENAT2)...),
	"half backport":  refuse(unix.EINVAL, unix.SYS_MOUNT_SETATTR),
	"other backport": refuse(unix.EINVAL, append(mountCalls, unix.SYS_MOUNT_SETATTR)...),
}

func refuse(errno unix.Errno, list ...uint32) calls {
	c := calls{}
	for _, call := range list {
		c[call] = errno
	}
	return c
}

// Names are the names of all kinds of kernels, sorted.
func Names() []string { return slices.Sorted(maps.Keys(kernels)) }

// Refuses reports whether a kernel refuses a system call; "" is this machine's.
func Refuses(name string, call uint32) bool {
	_, refused := kernels[name][call]
	return refused
}

// Enter makes this process, all its threads, and every program that it starts find a
// kernel of this name. It cannot be undone. Other users than root give up what programs with
// setuid would bring them.
func Enter(name string) error { return enter(name, unix.SECCOMP_FILTER_FLAG_TSYNC) }

// EnterThread is Enter for the calling thread, which the caller has locked, and the
// programs that it starts.
func EnterThread(name string) error { return enter(name, 0) }

func enter(name string, flags uintptr) error {
	refused, ok := kernels[name]
	if !ok {
		return fmt.Errorf("no kernel %q: one of %q", name, Names())
	}
	if os.Geteuid() != 0 {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("refuse system calls: %w", err)
		}
	}
	filter := refused.program()
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("refuse system calls: %w", errno)
	}
	return nil
}

// program is the filter as a program of BPF. It does not look at the ABI: what is
// tested uses one.
func (c calls) program() []unix.SockFilter {
	list := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the call
	for _, call := range slices.Sorted(maps.Keys(c)) {
		list = append(list,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(c[call])})
	}
	return append(list, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// Start starts a command on a kernel of this name; "" is this machine's.
func Start(name string, cmd *exec.Cmd) error {
	if name == "" {
		return cmd.Start()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := EnterThread(name)
		if err == nil {
			err = cmd.Start()
		}
		done <- err
	}()
	return <-done
}

// Again runs this test program again on kernels of these names, or on each: only the
// tests that match a pattern.
func Again(t *testing.T, pattern string, names ...string) {
	t.Helper()
	needs.Root(t, "for a filter of system calls")
	if len(names) == 0 {
		names = Names()
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", "-test.run", pattern, "-test.count=1")
			cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
			// Mounts of tests that run at the same time do not appear there.
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := Start(name, cmd); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v:\n%s", err, out.String())
			}
		})
	}
}
