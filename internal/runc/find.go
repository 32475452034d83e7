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

// directories are where a name is searched, in this order: the host's own, then
// those of distributions that bring their runtime along. PATH belongs to whoever
// started us and does not count.
var directories = []string{
	"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin",
	"/usr/libexec/crio", "/usr/lib/cri-o-runc/sbin",
	"/var/lib/rancher/k3s/data/current/bin", "/var/lib/rancher/rke2/bin", "/var/lib/k0s/bin",
	"/snap/microk8s/current/bin", "/opt/bin", "/run/current-system/sw/bin",
}

// self is this program's own file.
const self = "/proc/self/exe"

var (
	errSelf          = errors.New("is this program itself")
	errRelative      = errors.New("is neither a name nor an absolute path")
	errNotRegular    = errors.New("is not a regular file")
	errNotExecutable = errors.New("is not executable")
)

// NotFoundError reports that no candidate can be run.
type NotFoundError struct {
	Tried []Attempt
}

// Attempt is a path that was tried and why it was not taken.
type Attempt struct {
	Path string
	Err  error
}

// Error is one line: what is there but was refused, then what is not there.
func (e *NotFoundError) Error() string {
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
	if len(missing) > 0 {
		text += "; not there: " + strings.Join(missing, " ")
	}
	return text
}

// Find returns the path of the first candidate that can be trusted: a name is
// searched in fixed directories, an absolute path is taken as it is, and any
// other path is refused. The error is a *NotFoundError.
func Find(candidates []string) (string, error) {
	var failed NotFoundError
	for _, candidate := range candidates {
		for _, path := range places(candidate) {
			err := usable(path)
			if err == nil {
				return path, nil
			}
			failed.Tried = append(failed.Tried, Attempt{path, err})
		}
	}
	return "", &failed
}

// places returns the paths that a candidate stands for.
func places(candidate string) []string {
	if strings.Contains(candidate, "/") || candidate == "" || candidate == "." || candidate == ".." {
		return []string{candidate}
	}
	paths := make([]string, len(directories))
	for i, dir := range directories {
		paths[i] = dir + "/" + candidate
	}
	return paths
}

func usable(path string) error {
	if !filepath.IsAbs(path) {
		return errRelative
	}
	// Most places that are searched are empty, which costs one look.
	if _, err := os.Lstat(path); err != nil {
		return errors.Unwrap(err) // the path stands beside it
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
	return other(path, info)
}

// other makes sure that a file is not this program, also not by another link
// or as a copy: it would start itself without end.
func other(path string, info fs.FileInfo) error {
	own, err := os.Stat(self)
	switch {
	case err != nil:
		return fmt.Errorf("cannot be told from this program: %w", err)
	case own.Size() != info.Size():
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	mine, err := os.ReadFile(self)
	if err == nil && bytes.Equal(text, mine) {
		err = errSelf
	}
	return err
}
