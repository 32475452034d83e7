// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// MaxFile is the largest file that ReadFile reads, in bytes; no file that the toolkit
// reads is nearly as large.
const MaxFile = 16 << 20

var (
	// ErrTooLarge reports a file that exceeds its reader's limit.
	ErrTooLarge = errors.New("file too large")
	// ErrNotRegular reports something other than a regular file.
	ErrNotRegular = errors.New("not a regular file")
)

// Root is a host's file system below a directory.
type Root struct {
	dir    string   // absolute and clean
	handle *os.File // O_PATH; closed with the Root by the garbage collector
	real   func() (string, error)
}

// New opens dir as the root of a host; the empty string is "/".
func New(dir string) (*Root, error) {
	if dir == "" {
		dir = "/"
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve root %q: %w", dir, err)
	}
	//nolint:gosec // G304: the user names the root of the host; it is opened with their own rights
	handle, err := os.OpenFile(abs, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open root: %w", err)
	}
	// Cached, because every Resolve needs it and reading a node takes dozens of them.
	real := sync.OnceValues(func() (string, error) { return descriptor(handle.Fd()).path() })
	return &Root{dir: abs, handle: handle, real: real}, nil
}

// Dir is the root's own path, absolute and clean.
func (r *Root) Dir() string { return r.dir }

// Real reports whether the root is this machine's own "/".
func (r *Root) Real() bool { return r.dir == "/" }

// Join returns the path of a host file as this process sees it. It follows no link.
func (r *Root) Join(path string) string { return filepath.Join(r.dir, filepath.Clean("/"+path)) }

// ReadFile returns the contents of a regular file, at most MaxFile bytes.
func (r *Root) ReadFile(path string) ([]byte, error) {
	d, err := r.openDescriptor(path, readFlags)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.readContent(func() string { return r.Join(path) }, MaxFile)
}

// ReadDir returns the names in a directory, sorted.
func (r *Root) ReadDir(path string) ([]string, error) {
	d, err := r.openDescriptor(path, readFlags)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.readNames(func() string { return r.Join(path) })
}

// Exists reports whether there is a file at path.
func (r *Root) Exists(path string) bool {
	d, err := r.openDescriptor(path, unix.O_PATH)
	if err != nil {
		return false
	}
	d.close()
	return true
}

// First returns the first of the host's files at paths that exists, with all links followed,
// as this process sees it.
func (r *Root) First(paths []string) (path string, ok bool) {
	for _, candidate := range paths {
		if at, err := r.Resolve(candidate); err == nil {
			return r.Join(at), true
		}
	}
	return "", false
}

// Resolve returns path with all links followed, as the host sees it. Use it to find
// where something is (sysfs, /opt/maca), not to check a file before using it.
func (r *Root) Resolve(path string) (string, error) {
	d, err := r.openDescriptor(path, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer d.close()
	return r.resolve(path, d)
}

// resolve returns where the open file at path is, as the host sees it.
func (r *Root) resolve(path string, d descriptor) (string, error) {
	real, err := d.path()
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", r.Join(path), err)
	}
	if r.Real() {
		return real, nil
	}
	base, err := r.real()
	if err != nil {
		return "", fmt.Errorf("resolve root %s: %w", r.dir, err)
	}
	rel, err := filepath.Rel(base, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("resolve %s: leads out of the root, to %q", r.Join(path), real)
	}
	return filepath.Join("/", rel), nil
}

// Place returns the path on this machine at which to write a file of the host. It makes
// missing directories (mode 0755) and follows links on the way, but not the last
// element, as the host would, so that a link to "/run" in a tree leads to the tree's
// own.
func (r *Root) Place(path string) (string, error) {
	path = filepath.Clean("/" + path)
	if r.Real() {
		return path, nil
	}
	d, err := r.openDescriptor(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY)
	if err == nil {
		defer d.close()
	} else {
		// Others must be able to read what is written there, whatever the umask. The umask belongs
		// to the whole process; nothing else makes files meanwhile.
		umask := unix.Umask(0o022)
		dir, err := pathrs.MkdirAllHandle(r.handle, filepath.Dir(path), 0o755)
		unix.Umask(umask)
		if err != nil {
			return "", fmt.Errorf("make directory of %s: %w", r.Join(path), wording.Cause(err))
		}
		defer dir.Close()
		d = descriptor(dir.Fd())
	}
	real, err := d.path()
	if err != nil {
		return "", fmt.Errorf("resolve directory of %s: %w", r.Join(path), err)
	}
	return filepath.Join(real, filepath.Base(path)), nil
}

// readFlags never block, for example on a FIFO in a captured or hostile tree.
const readFlags = unix.O_RDONLY | unix.O_NONBLOCK

// openWithFlags is openDescriptor for a file that is kept.
func (r *Root) openWithFlags(path string, flags int) (*os.File, error) {
	d, err := r.openDescriptor(path, flags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(d), r.Join(path)), nil
}

// openDescriptor opens the file at path. Below the machine's own "/" the kernel's normal
// resolution of links is right. Below another root it takes openat2, or, on a kernel
// without that (before 5.6), a library that goes from handle to handle.
func (r *Root) openDescriptor(path string, flags int) (d descriptor, err error) {
	flags |= unix.O_CLOEXEC
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	path = filepath.Clean(path)
	err = retry(func() (err error) {
		if r.Real() {
			d, err = openAt(unix.AT_FDCWD, path, flags)
		} else {
			d, err = r.openBelow(path, flags)
		}
		return err
	})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: r.Join(path), Err: wording.Cause(err)}
	}
	return d, nil
}

func (r *Root) openBelow(path string, flags int) (descriptor, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(int(r.handle.Fd()), path, &how)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EAGAIN) {
		return descriptor(fd), err
	}
	// No openat2, a seccomp filter that forbids it, or a race with a rename.
	handle, err := pathrs.OpenatInRoot(r.handle, path)
	if err != nil {
		return -1, err
	}
	defer handle.Close()
	if flags&unix.O_PATH == 0 {
		reopened, err := pathrs.Reopen(handle, flags)
		if err != nil {
			return -1, err
		}
		defer reopened.Close()
		handle = reopened
	}
	fd, err = unix.FcntlInt(handle.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return descriptor(fd), err
}
