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

// Drop leaves the whole process, all its threads, no more than the capabilities
// that are named, as far as it has them; it will not gain any by an exec. It
// cannot be traced or dumped by others, and hands no open file but the three
// standard ones to a program that it executes. The umask becomes 022.
//
// The bounding set, which counts in an exec only, is the business of Shed.
func Drop(keep ...Capability) error {
	unix.Umask(0o022)
	// A core would be written where the host's settings say.
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
	header, sets, err := reduced(keep)
	if err != nil {
		return err
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	runtime.KeepAlive(&header)
	runtime.KeepAlive(&sets)
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}

// Shed does to the calling thread, which the caller has locked, what Drop does to
// all, and empties the bounding set but for keep: a program that the thread
// executes has no more than that.
func Shed(keep ...Capability) error {
	for c := Capability(0); ; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			// There is no such capability, nor any beyond; or no CAP_SETPCAP, and
			// no_new_privs has to do it.
			break
		}
		if err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	header, sets, err := reduced(keep)
	if err != nil {
		return err
	}
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// reduced is what the calling thread has of the named capabilities, as capset
// takes it. Nothing is inheritable, so the ambient set empties itself.
func reduced(keep []Capability) (unix.CapUserHeader, [2]unix.CapUserData, error) {
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
	if err == nil || !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
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
