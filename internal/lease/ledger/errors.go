// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// UnsafeError reports a file or directory that cannot be trusted as it is.
type UnsafeError struct {
	Path    string
	Problem string // what is wrong, as a sentence's end: "is a symbolic link"
	Fix     string // the command that fixes it
}

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("%s %s; as root, run: %s", e.Path, e.Problem, e.Fix)
}

// NewerError reports a state file of a version that this program does not know.
type NewerError struct {
	Path    string
	Version string // its apiVersion
}

func (e *NewerError) Error() string {
	return fmt.Sprintf(
		"%s has version %q, which this program does not know: upgrade this program (metax-ctk version), or stop the containers that have GPUs, then run: sudo rm %[1]s", e.Path, e.Version)
}

// InitError reports that the directory is missing and cannot be made.
type InitError struct {
	Dir string
	Err error
}

func (e *InitError) Error() string {
	return fmt.Sprintf("%s is not there; run once as root: metax-ctk lease init", e.Dir)
}

func (e *InitError) Unwrap() error { return e.Err }

// explainError adds the action to an error, and what to do if the directory causes it.
func (l *Ledger) explainError(action string, err error) error {
	switch {
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("%s: %w; %s has to be on a file system that can be written", action, err, l.dir)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%s: %w; make room in %s", action, err, l.dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %w; %s", action, err, l.allowed())
	}
	return fmt.Errorf("%s: %w", action, err)
}

// allowed says who may use the directory, and how to become one of them.
func (l *Ledger) allowed() string {
	info, err := os.Stat(l.dir)
	if err != nil {
		return "run it as root"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Gid == 0 || info.Mode().Perm()&0o020 == 0 {
		return "only root can take leases; run the command as root, or let a group do it: sudo metax-ctk lease init --group NAME"
	}
	gid := strconv.FormatUint(uint64(stat.Gid), 10)
	name := gid
	if g, err := user.LookupGroupId(gid); err == nil {
		name = g.Name
	}
	return fmt.Sprintf(
		"only root and group %s (gid %s) can take leases; to join: sudo usermod -aG %s USER, then log in again", name, gid, name)
}
