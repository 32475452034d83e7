// SPDX-License-Identifier: Apache-2.0

package runc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// searchDirs are the directories in which a name is searched, in this order: the host's
// own, then those of distributions that contain their own runtime. PATH does not count,
// because the caller sets it.
var searchDirs = []string{
	"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin",
	"/usr/libexec/crio", "/usr/lib/cri-o-runc/sbin",
	"/var/lib/rancher/k3s/data/current/bin", "/var/lib/rancher/rke2/bin", "/var/lib/k0s/bin",
	"/opt/bin", "/run/current-system/sw/bin",
}

// self is this program's own file.
const self = "/proc/self/exe"

var (
	errSelf          = errors.New("is this program itself")
	errRelative      = errors.New("is neither a name nor an absolute path")
	errNotRegular    = errors.New("is not a regular file")
	errNotExecutable = errors.New("is not executable")
)

// NotFoundError reports that no candidate is usable.
type NotFoundError struct {
	Tried []Attempt
}

// Attempt is a path that was tried, and why it is not usable.
type Attempt struct {
	Path string
	Err  error
}

// Error is one line: first the refused paths, then the missing ones, or how many.
func (e *NotFoundError) Error() string {
	const listed = 3 // missing paths
	var refused, missing []string
	for _, a := range e.Tried {
		if errors.Is(a.Err, fs.ErrNotExist) {
			missing = append(missing, fmt.Sprintf("%q", a.Path))
		} else {
			refused = append(refused, fmt.Sprintf("%q %v", a.Path, a.Err))
		}
	}
	text := "no low-level runtime to run"
	if len(refused) > 0 {
		text += "; refused: " + strings.Join(refused, ", ")
	}
	n := len(missing)
	switch {
	case n > listed:
		text += fmt.Sprintf("; %d paths do not exist (runtime.runtimes in the configuration names what to search)", n)
	case n > 0:
		text += "; not there: " + strings.Join(missing, " ")
	}
	return text
}

// Find returns the path of the first candidate that can be trusted. It searches a name
// in fixed directories, takes an absolute path as it is, and refuses any other path.
// The error is a *NotFoundError.
func Find(candidates []string) (string, error) {
	var failed NotFoundError
	for _, candidate := range candidates {
		for _, path := range candidatePaths(candidate) {
			err := checkUsable(path)
			if err == nil {
				return path, nil
			}
			failed.Tried = append(failed.Tried, Attempt{path, err})
		}
	}
	return "", &failed
}

// candidatePaths returns the paths to try for a candidate.
func candidatePaths(candidate string) []string {
	if strings.Contains(candidate, "/") || candidate == "" || candidate == "." || candidate == ".." {
		return []string{candidate}
	}
	paths := make([]string, len(searchDirs))
	for i, dir := range searchDirs {
		paths[i] = dir + "/" + candidate
	}
	return paths
}

func checkUsable(path string) error {
	if !filepath.IsAbs(path) {
		return errRelative
	}
	// Most candidates do not exist; one call shows that.
	if _, err := os.Lstat(path); err != nil {
		return errors.Unwrap(err) // Attempt has the path
	}
	info, err := hostfs.Trust(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errNotRegular
	case info.Mode()&0o111 == 0:
		return errNotExecutable
	}
	return checkNotSelf(path, info)
}

// checkNotSelf fails if a file is this program, also by another link or as a copy: it
// would start itself without end.
func checkNotSelf(path string, info fs.FileInfo) error {
	own, err := os.Stat(self)
	switch {
	case err != nil:
		return fmt.Errorf("cannot be compared with this program: %w", err)
	case own.Size() != info.Size():
		return nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // G304: Trust accepted it: only root or this user can replace it
	if err != nil {
		return err
	}
	mine, err := os.ReadFile(self)
	if err == nil && bytes.Equal(text, mine) {
		err = errSelf
	}
	return err
}
