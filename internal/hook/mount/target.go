// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

var (
	// ErrVolume reports a mount point that would have to be made in a volume.
	ErrVolume = errors.New(
		"the path is missing in a volume or a directory of the host that is mounted there; make it beforehand")
	// ErrShared reports a mount point on a mount with shared propagation.
	ErrShared = errors.New("the mount would also appear outside of the container (shared mount propagation)")
	// ErrKernelFiles reports a mount point in /proc, /sys or the like.
	ErrKernelFiles = errors.New("it is on a file system of the kernel, such as /proc")
	// ErrKind reports a directory that would hide a file, or the reverse.
	ErrKind = errors.New("a directory can only be mounted on a directory, a file only on a file")
)

// openTarget opens the mount point of a source and makes it if it is missing.
func (c *Container) openTarget(path string, s *Source) (*os.File, error) {
	f, err := c.root.Open(path, unix.O_PATH)
	if errors.Is(err, unix.ENOENT) {
		if f, err = c.makeTarget(path, s); err == nil || !errors.Is(err, unix.EEXIST) {
			return f, err
		}
		f, err = c.root.Open(path, unix.O_PATH) // another process made it meanwhile
	}
	if err != nil {
		return nil, err
	}
	if err := c.checkTarget(f, s.isDir()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkTarget fails if an existing mount point must not be mounted on.
func (c *Container) checkTarget(f *os.File, dir bool) error {
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.IsDir() != dir {
		return ErrKind
	}
	m, err := c.space.mountOf(f)
	if err != nil {
		return err
	}
	switch m.FSType {
	case "proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "securityfs":
		return ErrKernelFiles
	}
	if isShared(m) {
		return ErrShared
	}
	return nil
}

// makeTarget makes a mount point, below the deepest directory of its path that exists.
// What it makes cannot leave that directory's mount, whatever others change meanwhile.
func (c *Container) makeTarget(path string, s *Source) (*os.File, error) {
	above, rest, err := c.deepestDir(filepath.Clean("/" + path))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	m, err := c.space.mountOf(above)
	if err != nil {
		return nil, err
	}
	if mine, err := c.isContainerOwn(above, m); err != nil {
		return nil, err
	} else if !mine {
		return nil, ErrVolume
	}
	if isShared(m) {
		return nil, ErrShared
	}
	var f *os.File
	err = c.asRoot(func() (err error) {
		f, err = createTarget(above, rest, s, m.FSType == "tmpfs")
		return err
	})
	return f, err
}

// createTarget makes a mount point below a directory that no path can leave.
func createTarget(above *os.File, path string, s *Source, memory bool) (*os.File, error) {
	at := inroot.At(above).OneMount()
	if s.isDir() {
		return at.MkdirAll(path, 0o755)
	}
	parent, err := at.MkdirAll(filepath.Dir(path), 0o755)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	name := filepath.Base(path)
	if s.limits.devices && memory {
		if f, err := createNode(parent, name, s); err == nil {
			return f, nil
		}
	}
	return inroot.At(parent).OneMount().Create(name, 0o644)
}

// createNode makes the mount point of a device as a node with the device's numbers and
// mode 0. The mount covers it, but a program that lists the directory and relies on the
// listed type sees a device and not a file. In a user namespace such a node cannot be
// made, and in an image's files one would remain; there the mount point is a file.
func createNode(dir *os.File, name string, s *Source) (*os.File, error) {
	if err := unix.Mknodat(int(dir.Fd()), name, unix.S_IFCHR, int(s.stat.Rdev)); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// deepestDir opens the deepest existing directory on the way to path.
func (c *Container) deepestDir(path string) (above *os.File, rest string, err error) {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		above, err = c.root.Open(at, unix.O_PATH|unix.O_DIRECTORY)
		if err == nil {
			return above, strings.TrimPrefix(path, at), nil
		}
		if !errors.Is(err, unix.ENOENT) || at == "/" {
			return nil, "", err
		}
	}
}

// isContainerOwn reports whether a mount has only this container's files: that of the
// root, or a file system in memory that is not mounted on the host.
func (c *Container) isContainerOwn(f *os.File, m *mountinfo.Info) (bool, error) {
	root, err := c.space.mountID(c.root.Dir())
	if err != nil || root == m.ID {
		return err == nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return false, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	return m.FSType == "tmpfs" && !c.hostDevices[uint64(st.Dev)], nil
}
