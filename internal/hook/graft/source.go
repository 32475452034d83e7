package graft

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Source is a file or directory of the host that is to appear in a container.
type Source struct {
	path string
	// handle is a mount of its own that nobody sees, or, where detached is
	// false, the file where it stands: kernels before 5.2 know no other way.
	handle   *os.File
	detached bool
	sealed   bool // its attributes are set
	stat     unix.Stat_t
	set      attributes
}

// attributes are what may not be done through a mount.
type attributes struct {
	devices bool // may be opened
	noexec  bool
}

func (a attributes) new() uint64 {
	flags := uint64(unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID)
	if !a.devices {
		flags |= unix.MOUNT_ATTR_NODEV
	}
	if a.noexec {
		flags |= unix.MOUNT_ATTR_NOEXEC
	}
	return flags
}

func (a attributes) old() uintptr {
	flags := uintptr(unix.MS_RDONLY | unix.MS_NOSUID)
	if !a.devices {
		flags |= unix.MS_NODEV
	}
	if a.noexec {
		flags |= unix.MS_NOEXEC
	}
	return flags
}

// Kernel says what this machine's kernel can do.
type Kernel struct {
	// NoTree is a kernel without open_tree and move_mount (before 5.2), NoAttributes
	// one without mount_setattr (before 5.12).
	NoTree, NoAttributes bool
}

// Node takes a character device (hostfs.ErrNotDevice if it is something else).
// Its numbers are those of this very node from then on.
func (k Kernel) Node(path string) (*Source, error) {
	s, err := k.take(path, false, attributes{devices: true, noexec: true})
	if err != nil {
		return nil, err
	}
	if s.stat.Mode&unix.S_IFMT != unix.S_IFCHR {
		s.Close()
		return nil, fmt.Errorf("take %s: %w", path, hostfs.ErrNotDevice)
	}
	return s, nil
}

// Bind takes a file or a directory, with what is mounted below it if deep; a
// kernel that cannot make that read-only as well leaves it out.
func (k Kernel) Bind(path string, deep, noexec bool) (*Source, error) {
	s, err := k.take(path, deep, attributes{noexec: noexec})
	if err != nil {
		return nil, err
	}
	if mode := s.stat.Mode & unix.S_IFMT; mode != unix.S_IFDIR && mode != unix.S_IFREG {
		s.Close()
		return nil, fmt.Errorf("take %s: neither a file nor a directory", path)
	}
	return s, nil
}

func (k Kernel) take(path string, deep bool, set attributes) (*Source, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("take %q: not an absolute path", path)
	}
	s := &Source{path: path, set: set, detached: !k.NoTree}
	fd, err := -1, error(unix.ENOSYS)
	if s.detached {
		flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)
		if deep {
			flags |= unix.AT_RECURSIVE
		}
		fd, err = unix.OpenTree(unix.AT_FDCWD, path, flags)
	}
	if errors.Is(err, unix.ENOSYS) {
		s.detached = false
		fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("take %s: %w", path, err)
	}
	s.handle = os.NewFile(uintptr(fd), path)
	if err := unix.Fstat(fd, &s.stat); err != nil {
		s.Close()
		return nil, fmt.Errorf("stat %s: %w", path, err)
	}
	if !s.detached {
		return s, nil
	}
	err = k.seal(s)
	if errors.Is(err, unix.ENOSYS) {
		if !deep {
			return s, nil // sealed where it is mounted
		}
		// That would leave open what is mounted below it.
		s.Close()
		return Kernel{NoTree: k.NoTree, NoAttributes: true}.take(path, false, set)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("make %s read-only: %w", path, err)
	}
	s.sealed = true
	return s, nil
}

// seal makes the piece read-only before anyone sees it, with all that is mounted
// below, and deaf to what the host mounts there later.
func (k Kernel) seal(s *Source) error {
	if k.NoAttributes {
		return unix.ENOSYS
	}
	attr := unix.MountAttr{Attr_set: s.set.new(), Propagation: unix.MS_PRIVATE}
	return unix.MountSetattr(int(s.handle.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
}

// Close gives the handle back. What was mounted stays.
func (s *Source) Close() error { return s.handle.Close() }

// Device describes the node that was taken.
func (s *Source) Device() hostfs.Device {
	return hostfs.Device{
		Major: unix.Major(uint64(s.stat.Rdev)), Minor: unix.Minor(uint64(s.stat.Rdev)),
		Perm: s.stat.Mode & 0o777, UID: s.stat.Uid, GID: s.stat.Gid,
	}
}

func (s *Source) dir() bool { return s.stat.Mode&unix.S_IFMT == unix.S_IFDIR }
