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

	"github.com/metax-ctk/container-toolkit/internal/cause"
)

var (
	// ErrHostRoot reports a container's root that is the machine's own.
	ErrHostRoot = errors.New(`it is the machine's own "/"`)
	// ErrNotMounted reports a container's root that no runtime has prepared.
	ErrNotMounted = errors.New("nothing is mounted there")
	// ErrOtherMount reports a path that leads out of the root's own mount, for
	// which OneMount was asked: into a volume, or a directory of the host.
	ErrOtherMount = errors.New("leads into another mount than the container's root")
	// ErrNotRegular reports something else than a regular file where one is read.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotLink reports something else than a symbolic link where one is to stand.
	ErrNotLink = errors.New("something else than a symbolic link is there")
	// ErrTooLarge reports a file that is larger than the reader wants.
	ErrTooLarge = errors.New("file too large")
)

// Root is a container's root directory, or any other that no path may leave.
// Paths are those of the container; a leading "/" and ".." above the root mean
// nothing. A Root may be used by several goroutines.
type Root struct {
	dir      *os.File // O_PATH
	oneMount bool
}

// Open opens the directory at an absolute path of this process as a root. A link
// as its last element is refused, and so is our own root by whatever name.
func Open(path string) (*Root, error) {
	if !filepath.IsAbs(path) || slices.Contains(strings.Split(path, "/"), "..") || strings.ContainsRune(path, 0) {
		return nil, fmt.Errorf("open root %q: not an absolute path without %q", path, "..")
	}
	// Clean takes away a slash at the end, with which a link would be followed.
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

// At makes a root of an open directory, which belongs to the Root from then on.
// The caller vouches for it: our own root is not refused.
func At(dir *os.File) *Root { return &Root{dir: dir} }

// Close gives the handle back. What was opened through the root stays open.
func (r *Root) Close() error { return r.dir.Close() }

// Dir is the root's own handle (O_PATH), which stays the Root's.
func (r *Root) Dir() *os.File { return r.dir }

// OneMount returns the same root, whose paths may not lead into another mount,
// for writing: a volume below the root is somebody else's, and a link of the
// image into it is a trap. It shares the handle; closing one closes both.
func (r *Root) OneMount() *Root { return &Root{dir: r.dir, oneMount: true} }

// Open opens what path leads to. With O_NOFOLLOW a link as the last element is
// opened itself (with O_PATH) or refused. O_CREAT is not for Open. An open of
// something else than a file or a directory may have effects or block: see
// ReadFile.
func (r *Root) Open(path string, flags int) (*os.File, error) {
	if flags&(unix.O_CREAT|unix.O_TRUNC) == unix.O_CREAT {
		return nil, &fs.PathError{Op: "open", Path: path, Err: unix.EINVAL}
	}
	f, err := r.open(path, flags)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: clean(path), Err: causeOf(err)}
	}
	return f, nil
}

// Stat describes what path leads to, without opening it.
func (r *Root) Stat(path string) (fs.FileInfo, error) { return r.stat(path, 0) }

// Lstat is Stat of a link itself where the last element is one.
func (r *Root) Lstat(path string) (fs.FileInfo, error) { return r.stat(path, unix.O_NOFOLLOW) }

func (r *Root) stat(path string, flags int) (fs.FileInfo, error) {
	f, err := r.Open(path, unix.O_PATH|flags)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

// ReadFile returns the contents of a regular file of at most limit bytes. What
// is not regular is not even opened: a FIFO would block, and a device may act.
func (r *Root) ReadFile(path string, limit int64) ([]byte, error) {
	handle, err := r.Open(path, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	defer handle.Close()
	data, err := readRegular(handle, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", clean(path), causeOf(err))
	}
	return data, nil
}

// ReadDir returns the names in a directory, sorted; an error if there are more
// than limit.
func (r *Root) ReadDir(path string, limit int) ([]string, error) {
	f, err := r.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := readNames(f, limit)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", clean(path), causeOf(err))
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
		return "", fmt.Errorf("read link %s: %w", clean(path), err)
	}
	return target, nil
}

func clean(path string) string { return filepath.Clean("/" + path) }

// causeOf is cause.Of, also for links, and for what the kernel says of another mount.
func causeOf(err error) error {
	err = cause.Of(err)
	for l := (*os.LinkError)(nil); errors.As(err, &l); {
		err = l.Err
	}
	if errors.Is(err, unix.EXDEV) {
		return ErrOtherMount
	}
	return err
}

// retries is how often an open is tried again that a rename elsewhere disturbed.
const retries = 4096

// open makes the kernel resolve path in the root. A kernel without openat2
// (before 5.6), or a filter that forbids it, is served by a walk from handle to
// handle.
func (r *Root) open(path string, flags int) (*os.File, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC),
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	if r.oneMount {
		how.Resolve |= unix.RESOLVE_NO_XDEV
	}
	path = clean(path)
	for range retries {
		fd, err := unix.Openat2(int(r.dir.Fd()), path, &how)
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return r.walk(path, flags)
		}
		return nil, err
	}
	return nil, unix.EAGAIN
}

func (r *Root) walk(path string, flags int) (*os.File, error) {
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
