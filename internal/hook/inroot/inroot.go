// SPDX-License-Identifier: Apache-2.0

package inroot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

var (
	// ErrHostRoot reports a root that is the machine's own "/".
	ErrHostRoot = errors.New(`it is the machine's own "/"`)
	// ErrNotMounted reports a root that no runtime has mounted.
	ErrNotMounted = errors.New("nothing is mounted there")
	// ErrOtherMount reports a path of a OneMount root that leads into another mount: a
	// volume, or a directory of the host.
	ErrOtherMount = errors.New("leads into another mount than the container's root")
	// ErrNotRegular reports that a file to read is not a regular one.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotLink reports that something other than a symbolic link is where one is to
	// be made.
	ErrNotLink = errors.New("something else than a symbolic link is there")
	// ErrTooLarge reports a file that exceeds the reader's limit.
	ErrTooLarge = errors.New("file too large")
)

// Root is a container's root directory, or any other that no path may leave. Paths are
// those of the container: a leading "/" is optional, and ".." at the root stays there.
// Several goroutines may use a Root.
type Root struct {
	dir      *os.File // O_PATH
	oneMount bool
}

// Open opens the directory at an absolute path of this process as a root. It refuses a
// link as the last element, and this process's own root under any name.
func Open(path string) (*Root, error) {
	if !filepath.IsAbs(path) || slices.Contains(strings.Split(path, "/"), "..") || strings.ContainsRune(path, 0) {
		return nil, fmt.Errorf("open root %q: not an absolute path without %q", path, "..")
	}
	// Clean removes a slash at the end, which would make the kernel follow a link.
	dir, err := os.OpenFile(filepath.Clean(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open root %q: %w", path, causeOf(err))
	}
	if own, err := isOwnRoot(dir); err != nil || own {
		dir.Close()
		if err == nil {
			err = ErrHostRoot
		}
		return nil, fmt.Errorf("open root %q: %w", path, err)
	}
	return At(dir), nil
}

// At returns the root of an open directory, which the Root owns from then on. It does
// not refuse this process's own root.
func At(dir *os.File) *Root { return &Root{dir: dir} }

// Close closes the handle. Files that were opened through the root stay open.
func (r *Root) Close() error { return r.dir.Close() }

// Dir is the root's handle (O_PATH), which the Root still owns.
func (r *Root) Dir() *os.File { return r.dir }

// OneMount returns the same root whose paths must not lead into another mount. It is
// for writing: a volume below the root belongs to somebody else, and a link of the
// image into it would be a trap. Both share the handle; closing one closes both.
func (r *Root) OneMount() *Root { return &Root{dir: r.dir, oneMount: true} }

// Open opens the file at path. With O_NOFOLLOW it opens a link as the last element
// itself (with O_PATH) or refuses it. It does not accept O_CREAT. Opening something
// other than a file or a directory may block or have effects: see ReadFile.
func (r *Root) Open(path string, flags int) (*os.File, error) {
	if flags&(unix.O_CREAT|unix.O_TRUNC) == unix.O_CREAT {
		return nil, &fs.PathError{Op: "open", Path: path, Err: unix.EINVAL}
	}
	f, err := r.openPath(path, flags)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: cleanPath(path), Err: causeOf(err)}
	}
	return f, nil
}

// Stat describes the file at path without opening it.
func (r *Root) Stat(path string) (fs.FileInfo, error) { return r.stat(path, 0) }

// Lstat is Stat, but describes a link as the last element itself.
func (r *Root) Lstat(path string) (fs.FileInfo, error) { return r.stat(path, unix.O_NOFOLLOW) }

func (r *Root) stat(path string, flags int) (fs.FileInfo, error) {
	f, err := r.Open(path, unix.O_PATH|flags)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// ReadFile returns the contents of a regular file of at most limit bytes. It does not
// open other files: a FIFO would block, and a device may act.
func (r *Root) ReadFile(path string, limit int64) ([]byte, error) {
	handle, err := r.Open(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	data, err := readRegular(handle, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", cleanPath(path), causeOf(err))
	}
	return data, nil
}

// ReadDir returns the names in a directory, sorted; more than limit are an error.
func (r *Root) ReadDir(path string, limit int) ([]string, error) {
	f, err := r.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := readNames(f, limit)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", cleanPath(path), causeOf(err))
	}
	return names, nil
}

// Readlink returns the target of the link at path.
func (r *Root) Readlink(path string) (string, error) {
	f, err := r.Open(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	defer f.Close()
	target, err := readlinkat(f, "")
	if err != nil {
		return "", fmt.Errorf("read link %s: %w", cleanPath(path), err)
	}
	return target, nil
}

func cleanPath(path string) string { return filepath.Clean("/" + path) }

// causeOf is cause.Of that also unwraps errors of links, and has ErrOtherMount for the
// kernel's EXDEV.
func causeOf(err error) error {
	err = wording.Cause(err)
	for l := (*os.LinkError)(nil); errors.As(err, &l); {
		err = l.Err
	}
	if errors.Is(err, unix.EXDEV) {
		return ErrOtherMount
	}
	return err
}

// maxRetries is how often an open is repeated that a rename elsewhere disturbed.
const maxRetries = 4096

// openPath has the kernel resolve path in the root. Where the kernel has no openat2
// (before 5.6), or a filter forbids it, openByWalk goes from handle to handle.
func (r *Root) openPath(path string, flags int) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	if r.oneMount {
		how.Resolve |= unix.RESOLVE_NO_XDEV
	}
	path = cleanPath(path)
	for range maxRetries {
		fd, err := unix.Openat2(int(r.dir.Fd()), path, &how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return r.openByWalk(path, flags)
		}
		return nil, err
	}
	return nil, unix.EAGAIN
}

func (r *Root) openByWalk(path string, flags int) (*os.File, error) {
	var handle *os.File
	var err error
	if flags&unix.O_NOFOLLOW != 0 && path != "/" {
		parent, perr := pathrs.OpenatInRoot(r.dir, filepath.Dir(path))
		if perr != nil {
			return nil, perr
		}
		defer parent.Close()
		handle, err = openat(parent, filepath.Base(path), unix.O_PATH|unix.O_NOFOLLOW)
	} else {
		handle, err = pathrs.OpenatInRoot(r.dir, path)
	}
	if err != nil {
		return nil, err
	}
	if r.oneMount {
		if err := r.sameMount(handle); err != nil {
			handle.Close()
			return nil, err
		}
	}
	if flags&unix.O_PATH != 0 && flags&unix.O_DIRECTORY == 0 {
		return handle, nil
	}
	defer handle.Close()
	return pathrs.Reopen(handle, flags&^unix.O_NOFOLLOW)
}
