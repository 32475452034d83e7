// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/moby/sys/userns"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// ErrUntrusted reports a file that others than root and this process's user can
// replace.
var ErrUntrusted = errors.New("cannot be trusted")

// UntrustedError is an ErrUntrusted that names the file, directory or link, and who can
// change it.
type UntrustedError struct {
	Path string
	// Owner is the user who owns it; nil if the owner is trusted.
	Owner *uint32
	// Mode is the permission bits, as in stat(2).
	Mode uint32
}

func (e *UntrustedError) Error() string {
	if e.Owner != nil {
		return fmt.Sprintf("%v: %q belongs to user %d", ErrUntrusted, e.Path, *e.Owner)
	}
	return fmt.Sprintf("%v: group or others may write to %q (mode %04o)", ErrUntrusted, e.Path, e.Mode)
}

// Is makes every UntrustedError an ErrUntrusted.
func (e *UntrustedError) Is(target error) bool { return target == ErrUntrusted }

// maxLinks is how many links a path may contain, as in the kernel.
const maxLinks = 40

// Trust describes the file at an absolute path, with links followed, if only root and
// this process's user can replace it: they own the file and every directory on the way,
// and neither group nor others may write to them. Otherwise the error wraps
// ErrUntrusted and names what is wrong.
func Trust(path string) (fs.FileInfo, error) {
	return walkPath(path, func(at string, info fs.FileInfo, _ bool) error {
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil // who can replace it can write to its directory
		}
		return checkTrusted(at, statOf(info))
	})
}

// ReadOwn returns the toolkit's own configuration at an absolute path, nil if there is none.
// For root, who runs the programs that it names, it must be a file that only root can replace.
func ReadOwn(path string) ([]byte, error) {
	if os.Geteuid() == 0 {
		if _, err := Trust(path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		} else if err != nil {
			return nil, fmt.Errorf("read configuration %s: %w; chown root:root and chmod go-w that path", path, err)
		}
	}
	//nolint:gosec // G304: root reads what Trust accepts; other users read with their own rights
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return text, nil
}

// Reach fails with ErrUntrusted if another user than root and this process's can decide
// where an absolute path leads: by a link, a directory, or a file in a directory that
// everybody may write to, such as /tmp. In other directories the file itself may belong
// to anybody, and need not exist. Who may write to the last element does not matter.
func Reach(path string) error {
	shared := false // the directory above can be written by others
	_, err := walkPath(path, func(at string, info fs.FileInfo, last bool) error {
		if shared || !last || info.Mode()&fs.ModeSymlink != 0 {
			if err := CheckOwner(at, info); err != nil {
				return err
			}
		}
		if last || !info.IsDir() {
			return nil
		}
		writable := checkWritable(at, statOf(info))
		shared = writable != nil
		if info.Mode()&fs.ModeSticky == 0 {
			return writable
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// walkPath follows an absolute path and calls judge for each element: for a link, and
// then for what it leads to. Walking by name is safe, because the users whom judge
// rejects cannot exchange an element that was passed.
func walkPath(path string, judge func(at string, info fs.FileInfo, last bool) error) (fs.FileInfo, error) {
	done, rest := "/", Elements(path)
	for links := 0; ; {
		info, err := os.Lstat(done)
		if err != nil {
			return nil, wording.Cause(err)
		}
		if err := judge(done, info, len(rest) == 0); err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if links++; links > maxLinks {
				return nil, syscall.ELOOP
			}
			target, err := os.Readlink(done)
			if err != nil {
				return nil, wording.Cause(err)
			}
			rest = append(Elements(target), rest...)
			done = filepath.Dir(done)
			if strings.HasPrefix(target, "/") {
				done = "/"
			}
			continue
		}
		if len(rest) == 0 {
			return info, nil
		}
		if !info.IsDir() {
			return nil, syscall.ENOTDIR
		}
		if rest[0] == ".." {
			done = filepath.Dir(done)
		} else {
			done = filepath.Join(done, rest[0])
		}
		rest = rest[1:]
	}
}

// Elements returns the names in a path, including "..".
func Elements(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// checkTrusted judges one file or directory that is not a link. This is the only rule
// for who may write: the owner must be root or this process's user, and neither group
// nor others may write. Access lists show in the bits of the group.
func checkTrusted(path string, st *syscall.Stat_t) error {
	return cmp.Or(checkOwner(path, st), checkWritable(path, st))
}

func statOf(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

// CheckOwner fails with ErrUntrusted if the owner of a file is neither root nor this process's
// user.
func CheckOwner(path string, info fs.FileInfo) error { return checkOwner(path, statOf(info)) }

func checkOwner(path string, st *syscall.Stat_t) error {
	if !trustedOwner(st.Uid) {
		return &UntrustedError{Path: path, Owner: &st.Uid}
	}
	return nil
}

func checkWritable(path string, st *syscall.Stat_t) error {
	if st.Mode&0o022 != 0 {
		return &UntrustedError{Path: path, Mode: st.Mode & 0o7777}
	}
	return nil
}

func trustedOwner(uid uint32) bool { return int64(uid) == int64(os.Geteuid()) || IsRoot(uid) }

// IsRoot reports whether a file's owner is the host's root. In a user namespace without
// the host's root, its files have the id of all unknown owners.
func IsRoot(uid uint32) bool { return uid == 0 || (userns.RunningInUserNS() && uid == overflowID()) }

// overflowID is the id that this user namespace shows for owners that it does not know.
func overflowID() uint32 {
	const usual = 65534
	text, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return usual
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil {
		return usual
	}
	return uint32(id)
}
