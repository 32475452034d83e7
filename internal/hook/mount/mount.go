// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

var (
	// ErrOld reports a kernel that cannot mount a file into a container's namespace at
	// this stage.
	ErrOld = errors.New(
		"the container's root is already pivoted, and this kernel lacks open_tree, move_mount or openat2 (Linux 5.6 has them): use CDI")
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
	err = unix.ENOSYS
	if s.detached {
		err = c.attach(s, target)
	}
	if Unsupported(err) {
		err = c.bind(s, target)
	} else if err == nil && s.readOnly {
		return nil
	}
	if err != nil {
		return err
	}
	return c.makeReadOnly(s, path)
}

// attach mounts a source that is a clone.
func (c *Container) attach(s *Source, target *os.File) (err error) {
	if !s.readOnly { // makeReadOnly looks for a mount that the table lacks
		if c.space.table, err = c.space.readMounts(); err != nil {
			return err
		}
	}
	return unix.MoveMount(int(s.handle.Fd()), "", int(target.Fd()), "",
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
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
	again, err := os.OpenFile(s.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open it again: %w", err)
	}
	defer again.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(again.Fd()), &st); err != nil {
		return fmt.Errorf("stat it again: %w", err)
	}
	if st.Dev != s.stat.Dev || st.Ino != s.stat.Ino {
		return errors.New("the container's namespace has another file there")
	}
	flags := uintptr(unix.MS_BIND)
	if s.deep {
		flags |= unix.MS_REC
	}
	return c.space.Mount(again, target, "", flags, "")
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
	if st.Dev != s.stat.Dev || st.Ino != s.stat.Ino {
		return ErrMoved
	}
	if err := c.space.New(top); err != nil {
		return err
	}
	return c.space.Restrict(top, s.limits.bindFlags())
}
