package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LinkError is a symbolic link in the place of a configuration file that is not
// followed.
type LinkError struct {
	Path    string
	Problem string
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("change %s: a link that %s", e.Path, e.Problem)
}

// resolve returns the file that is to be changed: the one at path, or, as
// managers of configuration do it, the one that a link there leads to. That has
// to be below the same directory of the root as the link is, such as /etc: what
// is elsewhere has other owners and other rules.
func resolve(path string) (string, error) {
	if err := straight(path); err != nil {
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
	if top(dir) != top(target) {
		return "", &LinkError{path, fmt.Sprintf("leads out of /%s, to %s", top(dir), target)}
	}
	return target, nil
}

// straight checks that a path has no detours, so that it is the name of its
// entries too.
func straight(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" {
		return fmt.Errorf("path %q: want that of a file, absolute and without detours", path)
	}
	return nil
}

// top is the first name in an absolute path.
func top(path string) string {
	name, _, _ := strings.Cut(path[1:], "/")
	return name
}
