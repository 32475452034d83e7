package graft

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

var (
	// ErrOld reports a kernel that cannot bring a file into a container's namespace
	// at this stage.
	ErrOld = errors.New("this kernel can do that only before the container's root is pivoted (Linux 5.2 can); use CDI")
	// ErrMoved reports a mount that is no longer where it was made.
	ErrMoved = errors.New("what was mounted there is no longer there")
)

// Mount makes a source appear at a path of the container. A link of the image is
// followed within the container's root, as an engine does. A device node that is
// there already with the same numbers is left unchanged.
func (c *Container) Mount(s *Source, path string) error {
	if err := c.graft(s, path); err != nil {
		return fmt.Errorf("mount %s on %s of the container: %w", s.path, path, err)
	}
	return nil
}

func (c *Container) graft(s *Source, path string) error {
	if c.has(s, path) {
		return nil
	}
	target, err := c.target(path, s)
	if err != nil {
		return err
	}
	defer target.Close()
	if s.detached {
		err = unix.MoveMount(int(s.handle.Fd()), "", int(target.Fd()), "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	} else {
		err = c.bind(s, target)
	}
	if err != nil || s.sealed {
		return err
	}
	return c.seal(s, path)
}

// has reports whether the container has the node already: as its own, or because it
// has the host's /dev.
func (c *Container) has(s *Source, path string) bool {
	if !s.set.devices {
		return false
	}
	f, err := c.root.Open(path, unix.O_PATH)
	if err != nil {
		return false
	}
	defer f.Close()
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == s.stat.Rdev
}

// bind is for kernels that mount by path alone. The container's namespace still
// has the host's root, so the host's file is opened there again, and must be the
// same; the paths are those of the two handles.
func (c *Container) bind(s *Source, target *os.File) error {
	if c.pivoted {
		return ErrOld
	}
	fd, err := unix.Open(s.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open it again: %w", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("stat it again: %w", err)
	}
	if st.Dev != s.stat.Dev || st.Ino != s.stat.Ino {
		return errors.New("the container's namespace has another file there")
	}
	if err := unix.Fchdir(int(c.proc.Fd())); err != nil {
		return fmt.Errorf("change to /proc: %w", err)
	}
	return unix.Mount(handlePath(fd), handlePath(int(target.Fd())), "", unix.MS_BIND, "")
}

// seal sets the attributes of what has just been mounted at path. The handle of
// the mount point is below it, so path is resolved once more; what is found there
// counts only if it is the source, on a mount that was not there before.
func (c *Container) seal(s *Source, path string) error {
	top, err := c.root.Open(path, unix.O_PATH)
	if err != nil {
		return err
	}
	defer top.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(top.Fd()), &st); err != nil {
		return fmt.Errorf("stat what is mounted: %w", err)
	}
	id, err := c.mountID(top)
	if err != nil {
		return err
	}
	if _, before := c.table[id]; before || st.Dev != s.stat.Dev || st.Ino != s.stat.Ino {
		return ErrMoved
	}
	if err := unix.Fchdir(int(c.proc.Fd())); err != nil {
		return fmt.Errorf("change to /proc: %w", err)
	}
	at := handlePath(int(top.Fd()))
	if err := unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|s.set.old(), ""); err != nil {
		return fmt.Errorf("make it read-only: %w", err)
	}
	if err := unix.Mount("", at, "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make it private: %w", err)
	}
	return nil
}

func handlePath(fd int) string { return "thread-self/fd/" + strconv.Itoa(fd) }
