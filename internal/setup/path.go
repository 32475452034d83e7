// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/backup"
)

// At is the path on this machine of a host's file, which need not exist. Below another
// root, links lead where they do on that host, never to a file of this machine; a link
// in place of the file itself may only lead within its top directory, such as /etc. On
// this machine the writer follows links.
func (h Host) At(p string) (string, error) {
	if h.Root.Real() {
		return p, nil
	}
	dir, err := h.resolveDir(path.Dir(p))
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
	if firstName(target) != firstName(place) {
		return "", &backup.LinkError{Path: h.Root.Join(p), Problem: fmt.Sprintf(
			"points to %s, but the toolkit follows links only within /%s: replace the link by a file, or name one with --config", target, firstName(place))}
	}
	return h.Root.Join(target), nil
}

// resolveDir is a directory of the host with links followed; it need not exist.
func (h Host) resolveDir(dir string) (string, error) {
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
	above, err := h.resolveDir(path.Dir(dir))
	return path.Join(above, path.Base(dir)), err
}

// firstName is the first name in an absolute path.
func firstName(p string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return name
}

// checkRemoval fails if a change would remove a file that a link leads to.
func (h Host) checkRemoval(p, at string) error {
	if e, err := h.Root.Lstat(p); err == nil && e.Mode&fs.ModeSymlink != 0 && !h.Root.Real() {
		return &backup.LinkError{Path: h.Root.Join(p), Problem: "would lead nowhere if " + at + " were removed"}
	}
	return nil
}
