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

	"github.com/metax-ctk/container-toolkit/internal/cause"
)

// ErrUntrusted reports a file that others than root and ourselves can replace.
var ErrUntrusted = errors.New("cannot be trusted")

// UntrustedError is an ErrUntrusted that names what is wrong: a file, a directory or
// a link, and who can do what with it.
type UntrustedError struct {
	Path string
	// Owner is the user it belongs to; nil if that is one who is trusted.
	Owner *uint32
	// Mode are the permission bits, with those of stat(2).
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

// maxLinks is how many links a path may lead over, as in the kernel.
const maxLinks = 40

// Trust returns what is at an absolute path, links followed, if nobody but root
// and this process's user can put something else there: the file and every
// directory on the way have such an owner, and neither their group nor others may
// write to them. Otherwise the error wraps ErrUntrusted and names what is wrong.
func Trust(path string) (fs.FileInfo, error) {
	return walk(path, func(at string, info fs.FileInfo, _ bool) error {
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil // who can replace it can write to its directory
		}
		return check(at, info)
	})
}

// Reach fails with ErrUntrusted if somebody else than root and this process's user
// decides where an absolute path leads: by a link, by a directory, or by what he puts
// into a directory that everybody may write to, such as /tmp. The file itself may be
// anybody's elsewhere, and need not be there.
func Reach(path string) error {
	shared := false // the directory above can be written by others
	_, err := walk(path, func(at string, info fs.FileInfo, last bool) error {
		if shared || !last || info.Mode()&fs.ModeSymlink != 0 {
			if err := owned(at, info); err != nil {
				return err
			}
		}
		if !info.IsDir() {
			return nil
		}
		writable := closed(at, info)
		if shared = writable != nil; info.Mode()&fs.ModeSticky == 0 {
			return writable
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// walk follows an absolute path and has each element judged: a link as such, and then
// what it leads to. Walking by name is sound: what was passed already cannot be
// exchanged by whom judge fears.
func walk(path string, judge func(at string, info fs.FileInfo, last bool) error) (fs.FileInfo, error) {
	done, rest := "/", elements(path)
	for links := 0; ; {
		info, err := os.Lstat(done)
		if err != nil {
			return nil, cause.Of(err)
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
				return nil, cause.Of(err)
			}
			rest = append(elements(target), rest...)
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

// elements are the names in a path, ".." among them.
func elements(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}

// check judges one file or directory, which is no link. It is the one rule of who
// may write: its owner has to be root or this process's user, and neither group nor
// others may write. Access lists show in the bits of the group.
func check(path string, info fs.FileInfo) error {
	return cmp.Or(owned(path, info), closed(path, info))
}

func owned(path string, info fs.FileInfo) error {
	if st := info.Sys().(*syscall.Stat_t); !trustedOwner(st.Uid) {
		return &UntrustedError{Path: path, Owner: &st.Uid}
	}
	return nil
}

func closed(path string, info fs.FileInfo) error {
	if st := info.Sys().(*syscall.Stat_t); st.Mode&0o022 != 0 {
		return &UntrustedError{Path: path, Mode: st.Mode & 0o7777}
	}
	return nil
}

func trustedOwner(uid uint32) bool { return int64(uid) == int64(os.Geteuid()) || IsRoot(uid) }

// IsRoot reports whether a file's owner is the host's root: in a user namespace that
// does not know it, root is the id that stands for all that are not known.
func IsRoot(uid uint32) bool { return uid == 0 || userns.RunningInUserNS() && uid == overflow() }

// overflow is the id that owners without one in this user namespace seem to have.
func overflow() uint32 {
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
