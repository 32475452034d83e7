// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Source is an open file or directory of the host, to be mounted in a container.
type Source struct {
	path string
	// handle is a private clone of the mount, or, if detached is false, the file
	// itself: kernels before 5.2 cannot clone.
	handle   *os.File
	detached bool
	deep     bool // with the mounts below it
	readOnly bool // its attributes are set; otherwise after it is mounted
	stat     unix.Stat_t
	limits   mountLimits
}

// mountLimits are what a mount forbids, beside writing and setuid.
type mountLimits struct {
	devices bool // may be opened
	noexec  bool
}

func (a mountLimits) attrFlags() uint64 {
	flags := uint64(unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID)
	if !a.devices {
		flags |= unix.MOUNT_ATTR_NODEV
	}
	if a.noexec {
		flags |= unix.MOUNT_ATTR_NOEXEC
	}
	return flags
}

func (a mountLimits) bindFlags() uintptr {
	flags := uintptr(unix.MS_RDONLY | unix.MS_NOSUID)
	if !a.devices {
		flags |= unix.MS_NODEV
	}
	if a.noexec {
		flags |= unix.MS_NOEXEC
	}
	return flags
}

// Node opens a character device (hostfs.ErrNotDevice if it is something else). Its
// numbers stay those of this node, whatever happens to the path.
func Node(path string) (*Source, error) {
	s, err := open(path, false, mountLimits{devices: true, noexec: true})
	if err != nil {
		return nil, err
	}
	if s.stat.Mode&unix.S_IFMT != unix.S_IFCHR {
		s.Close()
		return nil, fmt.Errorf("take %s: %w", path, hostfs.ErrNotDevice)
	}
	return s, nil
}

// Bind opens a file or a directory, with the mounts below it if deep.
func Bind(path string, deep, noexec bool) (*Source, error) {
	s, err := open(path, deep, mountLimits{noexec: noexec})
	if err != nil {
		return nil, err
	}
	if mode := s.stat.Mode & unix.S_IFMT; mode != unix.S_IFDIR && mode != unix.S_IFREG {
		s.Close()
		return nil, fmt.Errorf("take %s: neither a file nor a directory", path)
	}
	return s, nil
}

func open(path string, deep bool, set mountLimits) (*Source, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("take %q: not an absolute path", path)
	}
	s := &Source{path: path, limits: set, deep: deep, detached: true}
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)
	if deep {
		flags |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, flags)
	if Unsupported(err) {
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
	// Make the clone and all mounts below it read-only before anyone can see it, and
	// private, so that later mounts of the host do not appear there.
	attr := unix.MountAttr{Attr_set: set.attrFlags(), Propagation: unix.MS_PRIVATE}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	if s.readOnly = err == nil; !s.readOnly && !Unsupported(err) {
		s.Close()
		return nil, fmt.Errorf("make %s read-only: %w", path, err)
	}
	return s, nil
}

// Close closes the handle. What was mounted stays.
func (s *Source) Close() error { return s.handle.Close() }

// Device describes the opened device node.
func (s *Source) Device() hostfs.Device {
	return hostfs.Device{
		Major: unix.Major(uint64(s.stat.Rdev)), Minor: unix.Minor(uint64(s.stat.Rdev)),
		Perm: s.stat.Mode & 0o777, UID: s.stat.Uid, GID: s.stat.Gid,
	}
}

func (s *Source) isDir() bool { return s.stat.Mode&unix.S_IFMT == unix.S_IFDIR }
