package mount

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

var (
	// ErrOld reports a kernel that cannot mount a file into a container's namespace at
	// this stage.
	ErrOld = errors.New("this kernel cannot mount into a container whose root is already pivoted (Linux 5.2 can); use CDI")
	// ErrMoved reports a mount that is no longer where it was made.
	ErrMoved = errors.New("what was mounted there is no longer there")
)

// Mount mounts a source on a path of the container. Like an engine, it follows links of
// the image within the container's root. It does nothing if the container already has a
// device node with the same numbers there.
func (c *Container) Mount(s *Source, path string) error {
	if err := c.mountAt(s, path); err != nil {
		return fmt.Errorf("mount %s on %s of the container: %w", s.path, path, err)
	}
	return nil
}

func (c *Container) mountAt(s *Source, path string) error {
	if c.hasNode(s, path) {
		return nil
	}
	target, err := c.openTarget(path, s)
	if err != nil {
		return err
	}
	defer target.Close()
	if s.detached {
		err = unix.MoveMount(int(s.handle.Fd()), "", int(target.Fd()), "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	} else {
		err = c.bind(s, target)
	}
	if err != nil || s.readOnly {
		return err
	}
	return c.makeReadOnly(s, path)
}

// hasNode reports whether the container already has the device node: its own, or the
// host's because it has the host's /dev.
func (c *Container) hasNode(s *Source, path string) bool {
	if !s.limits.devices {
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

// bind is for kernels that can mount only by path. The container's namespace still has
// the host's root, so bind opens the host's file there again and checks that it is the
// same. The paths that it mounts by are those of the two handles in /proc.
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

// makeReadOnly sets the attributes of what has just been mounted at path. The handle of
// the mount point is below the new mount, so path must be resolved once more; the
// result must be the source, on a mount that was not there before.
func (c *Container) makeReadOnly(s *Source, path string) error {
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
	if err := unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|s.limits.bindFlags(), ""); err != nil {
		return fmt.Errorf("make it read-only: %w", err)
	}
	if err := unix.Mount("", at, "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make it private: %w", err)
	}
	return nil
}

func handlePath(fd int) string { return "thread-self/fd/" + strconv.Itoa(fd) }
