// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

const (
	dirMode   = 0o2775
	lockMode  = 0o660
	stateMode = 0o664
)

// Init makes the directory and the lock, or fixes their owner, group and mode. As root
// it sets owner root and group gid (-1: unchanged). Other users own the files, as in a
// simulated tree. There is no state file before the first Update: an empty one would
// say that no GPU is in use.
func (l *Ledger) Init(gid int) error {
	if err := l.initializeDir(gid); err != nil {
		return l.explainError("make "+l.dir, err)
	}
	return nil
}

// initializeDir is Init with bare errors. Only the last step gives access to the group and
// marks the directory as finished, so that an interrupted Init can be detected.
func (l *Ledger) initializeDir(gid int) (err error) {
	if err := atomicfile.MakeDir(filepath.Dir(l.dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(l.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	handle, _, err := l.openDir()
	if err != nil {
		return err
	}
	defer handle.Close()
	// A handle from O_PATH cannot change the directory; "." is always the same directory.
	dir, err := openat(handle, ".", unix.O_RDONLY|unix.O_DIRECTORY|safeOpenFlags, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := setOwner(dir, gid); err != nil {
		return err
	}
	lock, _, err := lockFile(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := setOwner(lock, gid); err != nil {
		return err
	}
	if err := setMode(lock, lockMode); err != nil {
		return err
	}
	return setMode(dir, dirMode)
}

// setOwner sets owner root and the group; it does nothing unless the caller is root.
func setOwner(f *os.File, gid int) error {
	if os.Geteuid() != 0 {
		return nil
	}
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if stat.Uid == 0 && (gid < 0 || int(stat.Gid) == gid) {
		return nil
	}
	if err := unix.Fchown(int(f.Fd()), 0, max(gid, -1)); err != nil {
		return &fs.PathError{Op: "chown", Path: f.Name(), Err: err}
	}
	return nil
}

// setMode sets the mode bits of an open file.
func setMode(f *os.File, mode uint32) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	if stat.Mode&0o7777 == mode {
		return nil
	}
	if err := unix.Fchmod(int(f.Fd()), mode); err != nil {
		return &fs.PathError{Op: "chmod", Path: f.Name(), Err: err}
	}
	return nil
}
