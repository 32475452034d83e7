// SPDX-License-Identifier: Apache-2.0

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

// Tree is a host's file system as a value: the entry at each path. Paths are relative
// to the host's "/", slash-separated and clean ("dev/dri/card1"). The directories above
// an entry need no entries of their own.
type Tree map[string]Entry

// Entry is a File, a Dir, a Link, a Device or a Library.
type Entry interface{ entry() }

// File is a regular file.
type File struct {
	Data string
	Perm uint32 // permission bits; 0 is 0644
}

// Dir is a directory that must exist even if it is empty.
type Dir struct {
	Perm uint32 // permission bits; 0 is 0755
}

// Link is a symbolic link; its value is the target as written.
type Link string

// Device is a character device.
type Device hostfs.Device

func (File) entry()   {}
func (Dir) entry()    {}
func (Link) entry()   {}
func (Device) entry() {}

// ErrTree reports a Tree that cannot be written.
var ErrTree = errors.New("invalid tree")

// Check fails if t cannot be written. Paths must be clean and stay below the root,
// modes must be permission bits, and an entry must not be below something other than a
// directory. Because of the last rule, a link in t never redirects a write.
func (t Tree) Check() error {
	for _, p := range t.sortedPaths() {
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

// sortedPaths lists the paths in order: a directory comes before its contents.
func (t Tree) sortedPaths() []string { return slices.Sorted(maps.Keys(t)) }

func checkPath(p string) error {
	bad := func(why string) error { return fmt.Errorf("%w: path %q %s", ErrTree, p, why) }
	switch {
	case !isWord(p):
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
		if !isWord(string(e)) {
			return bad(fmt.Sprintf("link target %q has blanks or control characters, or is empty", string(e)))
		}
	case Device:
		if e.Major > maxMajor || e.Minor > maxMinor {
			return bad(fmt.Sprintf("device number %d:%d is beyond %d:%d", e.Major, e.Minor, maxMajor, maxMinor))
		}
		return checkPerm(e.Perm)
	case Library:
		if err := e.checkLimits(); err != nil {
			return bad(err.Error())
		}
	default:
		return bad("no entry")
	}
	return nil
}

// Limits of Linux: permission bits, and the 12 and 20 bits of a device number.
const (
	maxPerm  = 0o777
	maxMajor = 1<<12 - 1
	maxMinor = 1<<20 - 1
)

// maxDepth is the largest depth of a path; a GPU in sysfs is some ten directories deep.
const maxDepth = 64

// isWord reports whether s is one word of printable ASCII, so that the text form can be
// split at spaces.
func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
