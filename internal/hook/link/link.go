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

// ErrMalformed reports the text of a link that no spec of ours has.
var ErrMalformed = errors.New("malformed link")

// Parse reads TARGET::PATH.
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
	case climbs(l):
		why = "the target leads above the root"
	default:
		return l, nil
	}
	return Link{}, fmt.Errorf("%w %q: %s", ErrMalformed, text, why)
}

// climbs reports whether the target, read as words, has ".." beyond the root. The
// container's kernel would stop there, but who wrote that meant another place.
func climbs(l Link) bool {
	depth := 0
	words := strings.Split(l.Target, "/")
	if !path.IsAbs(l.Target) {
		words = append(strings.Split(path.Dir(l.Path), "/"), words...)
	}
	return slices.ContainsFunc(words, func(word string) bool {
		switch word {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		return depth < 0
	})
}

// ErrRival reports a link that another device of the same container has brought,
// to a mount of its own: two of what there can be one of.
var ErrRival = errors.New("the container is given two of it, ask for one")

// Make makes a link below a container's root, with the directories that it needs
// (mode 0755), and reports whether it had to. What is there stays, unless it is
// another link: a file or a directory is an error (inroot.ErrNotLink). So is what
// was mounted for this container, or leads to a mount beside the link (ErrRival):
// that was asked for as much as this was. The link may be on another mount if it
// is there already, but is never made there (inroot.ErrOtherMount).
func (l Link) Make(root *inroot.Root) (changed bool, err error) {
	switch old, err := root.Readlink(l.Path); {
	case err == nil && old == l.Target:
		return false, nil
	case err == nil && l.rivals(root, old):
		return false, fmt.Errorf("link %s to %s: %w (it leads to %.200q)", l.Path, l.Target, ErrRival, old)
	}
	changed, err = l.make(root, (*inroot.Root).Symlink)
	if errors.Is(err, inroot.ErrNotLink) && l.rivals(root, l.Path) {
		return false, fmt.Errorf("link %s to %s: %w (a mount is there)", l.Path, l.Target, ErrRival)
	}
	return changed, err
}

// Offer is Make where nothing stands yet: whatever is there, also a link that
// leads nowhere, stays, with fs.ErrExist.
func (l Link) Offer(root *inroot.Root) (changed bool, err error) {
	return l.make(root, (*inroot.Root).SymlinkNew)
}

func (l Link) make(root *inroot.Root, symlink func(r *inroot.Root, target, path string) (bool, error)) (changed bool, err error) {
	here := root.OneMount()
	changed, err = symlink(here, l.Target, l.Path)
	if !errors.Is(err, fs.ErrNotExist) {
		return changed, err
	}
	dir, err := here.MkdirAll(path.Dir(l.Path), 0o755)
	if err != nil {
		return false, err
	}
	// Through the handle: the path may lead elsewhere by now, but not out of here.
	made := inroot.At(dir).OneMount()
	defer made.Close()
	return symlink(made, l.Target, path.Base(l.Path))
}

// rivals reports whether what stands at the path, which leads to old, is a mount in
// the same directory. An image can have a link to any other place, and gets it
// replaced.
func (l Link) rivals(root *inroot.Root, old string) bool {
	dir := path.Dir(l.Path)
	if !path.IsAbs(old) {
		old = path.Join(dir, old)
	}
	if path.Dir(path.Clean(old)) != dir {
		return false
	}
	here := root.OneMount()
	if _, err := here.Stat(dir); err != nil {
		return false // all of the directory is somebody's, for which there is another error
	}
	_, err := here.Stat(l.Path)
	return errors.Is(err, inroot.ErrOtherMount)
}
