// SPDX-License-Identifier: Apache-2.0

// Package privilege reduces what a process can do: it drops capabilities, closes
// inherited files for programs that it executes, forbids to trace it, and never lets it
// gain any of that back.
package privilege

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Capability is the number of a Linux capability (unix.CAP_…).
type Capability uint

// Drop reduces the capabilities of the whole process, all its threads, to those named;
// an exec will not add any. Others cannot trace or dump the process, and programs that
// it executes inherit only the three standard files. The umask becomes 022.
//
// DropInThread also clears the bounding set, which counts only in an exec.
func Drop(keep ...Capability) error {
	unix.Umask(0o022)
	// The kernel would write a core dump where the host's settings say.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid dumps: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid dumps: %w", err)
	}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("close inherited files: %w", err)
	}
	if _, _, errno := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); errno != 0 {
		return fmt.Errorf("set no_new_privs: %w", errno)
	}
	header, sets, err := reducedSets(keep)
	if err != nil {
		return err
	}
	//nolint:gosec // G103: the conversions are in the call, and KeepAlive keeps both
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&sets)), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&sets)
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}

// DropInThread does to the calling thread, which the caller has locked, what Drop does
// to the process. It also empties the bounding set except keep, so that a program that
// the thread executes has no more than keep.
func DropInThread(keep ...Capability) error {
	for c := Capability(0); ; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			// The kernel has no capability c and none after it; or this thread lacks
			// CAP_SETPCAP, and no_new_privs must suffice.
			break
		}
		if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	header, sets, err := reducedSets(keep)
	if err != nil {
		return err
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// reducedSets are the named capabilities that the calling thread has, as capset takes
// them. Nothing is inheritable, so the ambient set becomes empty.
func reducedSets(keep []Capability) (unix.CapUserHeader, [2]unix.CapUserData, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has, sets [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err != nil {
		return header, sets, fmt.Errorf("read capabilities: %w", err)
	}
	for _, c := range keep {
		word, bit := c/32, uint32(1)<<(c%32)
		sets[word].Permitted |= bit & has[word].Permitted
		sets[word].Effective |= bit & has[word].Permitted
	}
	return header, sets, nil
}

func closeOnExec() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil || (!errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL)) {
		return err
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return err
}
