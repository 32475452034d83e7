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

// climbs tells whether the target, read as words, has ".." beyond the root. The
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

// Make makes a link below a container's root, with the directories that it needs
// (mode 0755), and reports whether it had to. What is there stays, unless it is
// another link: a file or a directory is an error (inroot.ErrNotLink). The link
// may be on another mount if it is there already, but is never made there
// (inroot.ErrOtherMount).
func (l Link) Make(root *inroot.Root) (changed bool, err error) {
	if target, err := root.Readlink(l.Path); err == nil && target == l.Target {
		return false, nil
	}
	here := root.OneMount()
	changed, err = here.Symlink(l.Target, l.Path)
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
	return made.Symlink(l.Target, path.Base(l.Path))
}
