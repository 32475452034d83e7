package setup

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/backup"
)

// At is the path on this machine of a host's file, which need not be there. Below
// another root links lead where they do on that host, never to a file of this one;
// the one in the place of the file itself only within its top directory, such as
// /etc. On this machine all that is the business of whoever writes.
func (h Host) At(p string) (string, error) {
	if h.Root.Real() {
		return p, nil
	}
	dir, err := h.resolved(path.Dir(p))
	if err != nil {
		return "", err
	}
	place := path.Join(dir, path.Base(p))
	if e, err := h.Root.Lstat(place); err != nil || e.Mode&fs.ModeSymlink == 0 {
		return h.Root.Join(place), nil
	}
	target, err := h.Root.Resolve(place)
	if err != nil {
		return "", &backup.LinkError{Path: h.Root.Join(p), Problem: "leads nowhere on that host"}
	}
	if top(target) != top(place) {
		return "", &backup.LinkError{Path: h.Root.Join(p), Problem: fmt.Sprintf("leads out of /%s, to %s", top(place), target)}
	}
	return h.Root.Join(target), nil
}

// resolved is a directory of the host without links, which need not be there.
func (h Host) resolved(dir string) (string, error) {
	if h.Root.Exists(dir) {
		found, err := h.Root.Resolve(dir)
		if err != nil {
			return "", fmt.Errorf("find %s: %w", h.Root.Join(dir), err)
		}
		return found, nil
	}
	if e, err := h.Root.Lstat(dir); err == nil && e.Mode&fs.ModeSymlink != 0 {
		return "", &backup.LinkError{Path: h.Root.Join(dir), Problem: "leads nowhere on that host"}
	}
	above, err := h.resolved(path.Dir(dir))
	return path.Join(above, path.Base(dir)), err
}

// top is the first name in an absolute path.
func top(p string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return name
}

// fixed reports whether a change is of a file that a link leads to, and would take the
// file away from under the link.
func (h Host) fixed(p, at string) error {
	if e, err := h.Root.Lstat(p); err == nil && e.Mode&fs.ModeSymlink != 0 && !h.Root.Real() {
		return &backup.LinkError{Path: h.Root.Join(p), Problem: "would lead nowhere if " + at + " were removed"}
	}
	return nil
}
