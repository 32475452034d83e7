package hosttree

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Tree is a host's file system as a value: what stands at each path. Paths are
// relative to the host's "/", slash-separated and plain ("dev/dri/card1");
// directories that lead to an entry need none of their own.
type Tree map[string]Entry

// Entry is a File, a Dir, a Link, a Device or a Library.
type Entry interface{ entry() }

// File is a regular file.
type File struct {
	Data string
	Perm uint32 // permission bits; 0 is 0644
}

// Dir is a directory that matters though nothing need be in it.
type Dir struct {
	Perm uint32 // permission bits; 0 is 0755
}

// Link is a symbolic link; its value is the target, word for word.
type Link string

// Device is a character device.
type Device hostfs.Device

func (File) entry()   {}
func (Dir) entry()    {}
func (Link) entry()   {}
func (Device) entry() {}

// ErrTree reports a Tree that cannot be written as it stands.
var ErrTree = errors.New("invalid tree")

// Check reports whether t can be written: paths that are plain and stay below
// the root, permission bits that are nothing else, and no entry below something
// that is not a directory. The last is also why a link in t never leads a write
// elsewhere.
func (t Tree) Check() error {
	for _, p := range t.paths() {
		if err := checkPath(p); err != nil {
			return err
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if e, ok := t[dir]; ok {
				if _, ok := e.(Dir); !ok {
					return fmt.Errorf("%w: %q lies below %q, which is not a directory", ErrTree, p, dir)
				}
			}
		}
		if err := checkEntry(p, t[p]); err != nil {
			return err
		}
	}
	return nil
}

// paths lists the paths in order; a directory comes before what is in it.
func (t Tree) paths() []string { return slices.Sorted(maps.Keys(t)) }

func checkPath(p string) error {
	bad := func(why string) error { return fmt.Errorf("%w: path %q %s", ErrTree, p, why) }
	switch {
	case !word(p):
		return bad("has blanks or control characters, or is empty")
	case path.IsAbs(p):
		return bad(`is absolute; leave out the leading "/"`)
	case p == ".." || strings.HasPrefix(path.Clean(p), "../"):
		return bad("leads out of the root")
	case p == "." || path.Clean(p) != p:
		return bad("is not plain; want " + path.Clean(p))
	case strings.Count(p, "/") > maxDepth:
		return bad(fmt.Sprintf("lies more than %d directories deep", maxDepth))
	}
	return nil
}

func checkEntry(p string, e Entry) error {
	bad := func(why string) error { return fmt.Errorf("%w: %s: %s", ErrTree, p, why) }
	checkPerm := func(perm uint32) error {
		if perm > maxPerm {
			return bad(fmt.Sprintf("mode %#o is not one of permission bits", perm))
		}
		return nil
	}
	switch e := e.(type) {
	case File:
		return checkPerm(e.Perm)
	case Dir:
		return checkPerm(e.Perm)
	case Link:
		if !word(string(e)) {
			return bad(fmt.Sprintf("link target %q has blanks or control characters, or is empty", string(e)))
		}
	case Device:
		if e.Major > maxMajor || e.Minor > maxMinor {
			return bad(fmt.Sprintf("device number %d:%d is beyond %d:%d", e.Major, e.Minor, maxMajor, maxMinor))
		}
		return checkPerm(e.Perm)
	case Library:
		if err := e.check(); err != nil {
			return bad(err.Error())
		}
	default:
		return bad("no entry")
	}
	return nil
}

// The bounds of what Linux can write down: permission bits, and the 12 and 20
// bits of a device number.
const (
	maxPerm  = 0o777
	maxMajor = 1<<12 - 1
	maxMinor = 1<<20 - 1
)

// maxDepth bounds how deep a tree is: a GPU in sysfs lies some ten directories deep.
const maxDepth = 64

// word reports whether s is one word of printable ASCII, so that the text form
// can be split at blanks.
func word(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
