// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LockTimeout is how long Update waits for one other writer, which usually has the lock
// for a millisecond. It begins anew with each writer that comes before: two hundred
// starts at once on a busy machine may take longer in total.
const LockTimeout = 10 * time.Second

// LockError reports that another process has kept the lock for too long.
type LockError struct {
	Path    string
	PID     int    // of the holder; 0 if it is not known
	Command string // the kernel's short name for it
	Err     error  // of the context
}

func (e *LockError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d (%s)", e.PID, e.Command)
	}
	return fmt.Sprintf("lock %s: %s holds it: %v; wait for that process, or end it", e.Path, who, e.Err)
}

func (e *LockError) Unwrap() error { return e.Err }

// lockForWriting takes the lock of all writers. Closing the file releases it.
func (l *Ledger) lockForWriting(ctx context.Context, dir *os.File) (*os.File, error) {
	for {
		f, err := openLock(dir)
		if err != nil {
			return nil, err
		}
		if err := flock(ctx, f, l.lockTimeout); err != nil {
			return nil, err
		}
		// A user who removes the file, as an UnsafeError says, makes two locks of one; only
		// the one in the directory counts.
		if current(dir, f) {
			return f, nil
		}
		f.Close()
	}
}

// openLock opens the lock file, and makes it where it is missing.
func openLock(dir *os.File) (*os.File, error) {
	f, stat, err := lockFile(dir)
	if err != nil {
		return nil, err
	}
	euid := os.Geteuid()
	switch {
	case stat.Mode&0o007 != 0:
		// A user who may read the file can take the lock, and block everybody.
		err = &UnsafeError{f.Name(), "can be opened by everybody", "chmod o= " + f.Name()}
	case euid == 0 || euid == int(stat.Uid):
		err = setMode(f, lockMode) // the umask may have removed a part
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockFile opens or makes the lock file, whatever its mode.
func lockFile(dir *os.File) (*os.File, unix.Stat_t, error) {
	f, stat, err := openRegular(dir, lockName, unix.O_RDWR|unix.O_CREAT, lockMode)
	if err == nil && stat.Nlink > 1 {
		// It may be the file of another user, to which the group must get no access.
		f.Close()
		err = &UnsafeError{f.Name(), fmt.Sprintf("has %d names", stat.Nlink), "rm " + f.Name()}
	}
	return f, stat, err
}

// current reports whether f is the lock file that is in the directory now.
func current(dir, f *os.File) bool {
	var mine, named unix.Stat_t
	return unix.Fstat(int(f.Fd()), &mine) == nil &&
		unix.Fstatat(int(dir.Fd()), lockName, &named, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		mine.Ino == named.Ino && mine.Dev == named.Dev
}

// flock locks the file, or closes it. It waits in the kernel, which wakes waiters in the
// order of their arrival; repeated attempts would let a newcomer pass them. A waiting thread
// cannot be interrupted: if the context ends first it is left behind, and releases the lock
// if it gets it.
func flock(ctx context.Context, f *os.File, timeout time.Duration) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
		if err != nil {
			f.Close()
			return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
		return nil
	}
	file := identity(f)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	locked := make(chan error)
	go func() {
		err := error(unix.EINTR)
		for errors.Is(err, unix.EINTR) {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		select {
		case locked <- err:
		case <-ctx.Done():
			f.Close()
		}
	}()
	before, _ := holder(file)
	again := time.NewTicker(timeout)
	defer again.Stop()
	for {
		select {
		case err := <-locked:
			if err != nil {
				f.Close()
				return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
			}
			return nil
		case <-again.C:
			pid, _ := holder(file)
			if pid == before {
				cancel(fmt.Errorf("waited %v: %w", timeout, context.DeadlineExceeded))
			}
			before = pid
		case <-ctx.Done():
			pid, command := holder(file)
			return &LockError{Path: f.Name(), PID: pid, Command: command, Err: context.Cause(ctx)}
		}
	}
}

// identity is how /proc/locks names an open file.
func identity(f *os.File) string {
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil {
		return ""
	}
	return fmt.Sprintf("%02x:%02x:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev), stat.Ino)
}

// holder returns the process that has the lock on a file, 0 if it is not known.
func holder(file string) (pid int, command string) {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0, ""
	}
	pid = holderOf(string(locks), file)
	if pid == 0 {
		return 0, ""
	}
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return 0, "" // it has ended
	}
	return pid, strings.TrimSpace(string(name))
}

// holderOf returns the pid that has a flock lock on the file in the text of
// /proc/locks, 0 if there is none. A line is
//
//	1: FLOCK  ADVISORY  WRITE 4711 00:1a:42 0 EOF
//
// and a line with "->" before FLOCK is of a process that waits.
func holderOf(locks, file string) int {
	for line := range strings.Lines(locks) {
		fields := strings.Fields(line)
		if len(fields) >= 6 && fields[1] == "FLOCK" && fields[5] == file {
			pid, _ := strconv.Atoi(fields[4])
			return max(pid, 0)
		}
	}
	return 0
}
