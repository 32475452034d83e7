// SPDX-License-Identifier: Apache-2.0

// Package link makes the symbolic links in a container that a CDI spec requests: the
// names by which programs look up libraries.
package link

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// Link is a symbolic link as the container sees it.
type Link struct {
	Target string // relative to the link's directory, or absolute in the container
	Path   string // absolute and clean
}

// ErrMalformed reports a link that the toolkit never writes into a spec.
var ErrMalformed = errors.New("malformed link")

// Parse parses TARGET::PATH.
func Parse(text string) (Link, error) {
	target, at, ok := strings.Cut(text, "::")
	l := Link{Target: target, Path: at}
	var why string
	switch {
	case !ok || target == "" || at == "":
		why = "want TARGET::PATH"
	case strings.Contains(at, "::"):
		why = `more than one "::"`
	case strings.ContainsFunc(text, unicode.IsControl):
		why = "it has a control character"
	case len(target) >= unix.PathMax || len(at) >= unix.PathMax:
		why = "it is too long"
	case !path.IsAbs(at) || path.Clean(at) != at || at == "/":
		why = "the path is not absolute and clean"
	case leadsAboveRoot(l):
		why = "the target leads above the root"
	default:
		return l, nil
	}
	return Link{}, fmt.Errorf("%w %q: %s", ErrMalformed, text, why)
}

// leadsAboveRoot reports whether the target, read word by word, has a ".." beyond the
// root. The container's kernel would stop at the root, but the author meant another
// place.
func leadsAboveRoot(l Link) bool {
	depth := 0
	words := strings.Split(l.Target, "/")
	if !path.IsAbs(l.Target) {
		words = append(strings.Split(path.Dir(l.Path), "/"), words...)
	}
	return slices.ContainsFunc(words, func(word string) bool {
		switch word {
		case "", ".": // stays where it is
		case "..":
			depth--
		default:
			depth++
		}
		return depth < 0
	})
}

// ErrConflict reports a link whose path another device of the same container already
// has for another target.
var ErrConflict = errors.New("two requested devices need this path for different files; request only one of them")

// Make makes a link below a container's root, with the directories that it needs (mode
// 0755), and reports whether it changed anything. It replaces another link, but not a
// file or a directory (inroot.ErrNotLink), a mount made for this container, or a link
// to a mount beside it (ErrConflict): the container requested those as well. The link
// may exist on another mount, but is never made there (inroot.ErrOtherMount).
func (l Link) Make(root *inroot.Root) (changed bool, err error) {
	old, err := root.Readlink(l.Path)
	switch {
	case err == nil && old == l.Target:
		return false, nil
	case err == nil && l.conflicts(root, old):
		return false, fmt.Errorf("link %s to %s: %w (it leads to %.200q)", l.Path, l.Target, ErrConflict, old)
	}
	changed, err = l.create(root, (*inroot.Root).Symlink)
	if errors.Is(err, inroot.ErrNotLink) && l.conflicts(root, l.Path) {
		return false, fmt.Errorf("link %s to %s: %w (a mount is there)", l.Path, l.Target, ErrConflict)
	}
	return changed, err
}

// MakeIfAbsent is Make if nothing is at the path; anything that is there, also a link
// that leads nowhere, stays, with fs.ErrExist.
func (l Link) MakeIfAbsent(root *inroot.Root) (changed bool, err error) {
	return l.create(root, (*inroot.Root).SymlinkNew)
}

func (l Link) create(root *inroot.Root,
	symlink func(r *inroot.Root, target, name string) (bool, error),
) (changed bool, err error) {
	here := root.OneMount()
	changed, err = symlink(here, l.Target, l.Path)
	if !errors.Is(err, fs.ErrNotExist) {
		return changed, err
	}
	dir, err := here.MkdirAll(path.Dir(l.Path), 0o755)
	if err != nil {
		return false, err
	}
	// Through the handle: the path may lead elsewhere by now, but not out of the root.
	made := inroot.At(dir).OneMount()
	defer made.Close()
	return symlink(made, l.Target, path.Base(l.Path))
}

// conflicts reports whether the link's path, which leads to old, is a mount in the same
// directory. A link of the image to any other place is replaced.
func (l Link) conflicts(root *inroot.Root, old string) bool {
	dir := path.Dir(l.Path)
	if !path.IsAbs(old) {
		old = path.Join(dir, old)
	}
	if path.Dir(path.Clean(old)) != dir {
		return false
	}
	here := root.OneMount()
	if _, err := here.Stat(dir); err != nil {
		return false // the directory is on another mount, which has its own error
	}
	_, err := here.Stat(l.Path)
	return errors.Is(err, inroot.ErrOtherMount)
}
