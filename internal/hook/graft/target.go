package graft

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
	ErrVolume = errors.New("it would have to be made in a volume or a directory of the host, mounted there; make it beforehand")
	// ErrShared reports a mount point on a mount that others share.
	ErrShared = errors.New("what is mounted there would be seen outside of the container (shared mount propagation)")
	// ErrKernelFiles reports a mount point in /proc, /sys or the like.
	ErrKernelFiles = errors.New("it is on a file system that shows the kernel, not files")
	// ErrKind reports a directory that would hide a file, or the reverse.
	ErrKind = errors.New("a directory can only be mounted on a directory, a file only on a file")
)

// target opens the mount point of a source, which is made where it is missing.
func (c *Container) target(path string, s *Source) (*os.File, error) {
	f, err := c.root.Open(path, unix.O_PATH)
	if errors.Is(err, unix.ENOENT) {
		if f, err = c.make(path, s); err == nil || !errors.Is(err, unix.EEXIST) {
			return f, err
		}
		f, err = c.root.Open(path, unix.O_PATH) // someone was faster
	}
	if err != nil {
		return nil, err
	}
	if err := c.fit(f, s.dir()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// fit reports whether a mount point that was there before may be mounted on.
func (c *Container) fit(f *os.File, dir bool) error {
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.IsDir() != dir {
		return ErrKind
	}
	m, err := c.mount(f)
	if err != nil {
		return err
	}
	switch m.FSType {
	case "proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "securityfs":
		return ErrKernelFiles
	}
	if shared(m) {
		return ErrShared
	}
	return nil
}

// make makes a mount point, from the last directory on the way that is there. What
// is made cannot leave that directory's mount, whatever stands there meanwhile.
func (c *Container) make(path string, s *Source) (*os.File, error) {
	above, rest, err := c.last(filepath.Clean("/" + path))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	m, err := c.mount(above)
	if err != nil {
		return nil, err
	}
	if mine, err := c.ours(above, m); err != nil {
		return nil, err
	} else if !mine {
		return nil, ErrVolume
	}
	if shared(m) {
		return nil, ErrShared
	}
	var f *os.File
	err = c.asRoot(func() (err error) {
		f, err = put(above, rest, s, m.FSType == "tmpfs")
		return err
	})
	return f, err
}

// put makes a mount point below a directory that is the root of all links now.
func put(above *os.File, path string, s *Source, memory bool) (*os.File, error) {
	at := inroot.At(above).OneMount()
	if s.dir() {
		return at.MkdirAll(path, 0o755)
	}
	parent, err := at.MkdirAll(filepath.Dir(path), 0o755)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	name := filepath.Base(path)
	if s.set.devices && memory {
		if f, err := node(parent, name, s); err == nil {
			return f, nil
		}
	}
	return inroot.At(parent).OneMount().Create(name, 0o644)
}

// node makes the mount point of a node as a node with its numbers, closed to all.
// What is mounted covers it, but who lists the directory, and trusts what the list
// says of a name's type, sees a device and not a file. In a user namespace, where
// there are no such nodes, a file has to do; in an image's files one would remain.
func node(dir *os.File, name string, s *Source) (*os.File, error) {
	if err := unix.Mknodat(int(dir.Fd()), name, unix.S_IFCHR, int(s.stat.Rdev)); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// last opens the deepest directory on the way to path that is there.
func (c *Container) last(path string) (above *os.File, rest string, err error) {
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

// ours reports whether a mount holds nothing but this container's files: the root
// itself, or a file system in memory that the host does not have mounted.
func (c *Container) ours(f *os.File, m *mountinfo.Info) (bool, error) {
	root, err := c.mountID(c.root.Dir())
	if err != nil || root == m.ID {
		return err == nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return false, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	return m.FSType == "tmpfs" && !c.host[uint64(st.Dev)], nil
}
