// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/atomicfile"
)

// LinkError reports a symbolic link in place of a configuration file that must not be
// followed.
type LinkError struct {
	Path    string
	Problem string
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("change %s: a link that %s", e.Path, e.Problem)
}

// resolveTarget returns the file to change: the one at path or, as tools that manage
// configuration do, the one that a link there leads to. That must be below the same top
// directory as the link, such as /etc, because files elsewhere have other owners and
// rules.
func resolveTarget(path string) (string, error) {
	if err := checkClean(path); err != nil {
		return "", err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	} else if err != nil {
		return "", fmt.Errorf("change: %w", err)
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return path, nil
	}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &LinkError{path, "leads nowhere"}
	} else if err != nil {
		return "", &LinkError{path, fmt.Sprintf("cannot be followed: %v", err)}
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("change %s: %w", path, err)
	}
	if firstName(dir) != firstName(target) {
		return "", &LinkError{path, fmt.Sprintf(
			"points to %s, but the toolkit follows links only within /%s: replace the link by a file, or name one with --config", target, firstName(dir))}
	}
	return target, nil
}

// checkClean fails if a path is not absolute and clean. The path also names the file's
// directory in the store.
func checkClean(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
		return fmt.Errorf("path %q: want an absolute path of a file, without . or .. or //", path)
	}
	return nil
}

// firstName is the first name in an absolute path.
func firstName(path string) string {
	name, _, _ := strings.Cut(path[1:], "/")
	return name
}

// writeTarget writes the file's content, or removes it if the content is nil. A directory of
// drop-ins must never have an incomplete file, under any name: CRI-O reads all, and
// would not start after a killed writer. So there the temporary file is made in the
// directory above, unless that is on another file system or not writable.
func (st step) writeTarget(data []byte) error {
	if data == nil {
		_, err := atomicfile.Remove(st.target)
		return err
	}
	o := atomicfile.Options{Perm: st.Mode.Perm(), Meta: st.meta}
	if above, ok := aboveDropIns(st.target); ok {
		o.Dir = above
		_, err := atomicfile.Write(st.target, data, o)
		if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EROFS) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		o.Dir = ""
	}
	_, err := atomicfile.Write(st.target, data, o)
	return err
}

// aboveDropIns returns the directory above that of path; ok is whether path is in a
// directory of drop-ins.
func aboveDropIns(path string) (above string, ok bool) {
	dir := filepath.Dir(path)
	return filepath.Dir(dir), strings.HasSuffix(dir, ".d")
}

// removeLeftovers removes temporary files that a killed writer of path left. It must
// not run during a write.
func removeLeftovers(path string) error {
	left := func(name string) bool { return atomicfile.IsTemporary(name, filepath.Base(path)) }
	if above, ok := aboveDropIns(path); ok {
		if err := removeMatching(above, left); err != nil {
			return err
		}
	}
	return removeMatching(filepath.Dir(path), left)
}
