// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// Container is the mount namespace of a container, as seen from inside.
type Container struct {
	root        *inroot.Root
	processRoot *os.File // the root directory of the container's process
	pivoted     bool
	uid         int // our id of the container's root user
	gid         int
	hostDevices deviceNumbers // of the file systems that the host has mounted
	space       *Namespace    // by our own /proc: the container's may be anything
}

// Pivoted reports whether the container's process has left the host's root. Before
// that, paths of the host lead to the host's files also in the container's namespace.
func (c *Container) Pivoted() bool { return c.pivoted }

// Enter calls do in the mount namespace of the container's process. The container's
// root is the directory rootfs, an absolute path of the host, as the container's
// namespace has it; for a process that has pivoted it is the process's own root. Enter
// returns when do does. The thread that was inside ends and is never used again.
func (p *Process) Enter(rootfs string, do func(*Container) error) error {
	ns, err := p.openMountNamespace()
	if err != nil {
		return err
	}
	defer ns.Close()
	c := &Container{}
	if err := c.prepare(p); err != nil {
		return err
	}
	defer c.space.Close()
	defer c.processRoot.Close()
	done := make(chan error)
	go func() {
		// A thread that is not unlocked ends with its goroutine.
		runtime.LockOSThread()
		done <- c.runInside(ns, rootfs, do)
	}()
	return <-done
}

// prepare collects what cannot be trusted or found any more from inside.
func (c *Container) prepare(p *Process) error {
	uids, err := p.UIDs()
	if err != nil {
		return err
	}
	gids, err := p.GIDs()
	if err != nil {
		return err
	}
	if uid, ok := uids.Host(0); ok {
		c.uid = int(uid)
	}
	if gid, ok := gids.Host(0); ok {
		c.gid = int(gid)
	}
	if c.processRoot, err = p.openRoot(); err != nil {
		return err
	}
	if c.pivoted, err = isOtherRoot(c.processRoot); err != nil {
		c.processRoot.Close()
		return err
	}
	if c.space, err = ThisNamespace(); err != nil {
		c.processRoot.Close()
		return err
	}
	c.hostDevices = c.space.table.mountedDevices()
	return nil
}

// isOtherRoot reports whether a directory is not this process's root.
func isOtherRoot(dir *os.File) (bool, error) {
	var own, st unix.Stat_t
	if err := errors.Join(unix.Stat("/", &own), unix.Fstat(int(dir.Fd()), &st)); err != nil {
		return false, fmt.Errorf("stat the container's root: %w", err)
	}
	return st.Dev != own.Dev || st.Ino != own.Ino, nil
}

func (c *Container) runInside(ns *os.File, rootfs string, do func(*Container) error) error {
	// A thread that shares its root and working directory with others cannot change them.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the process's directory: %w", err)
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the container's mount namespace: %w", err)
	}
	// An engine may run in a changed root. A thread that enters a namespace gets the
	// namespace's root, not the changed one.
	if err := errors.Join(unix.Fchdir(int(c.processRoot.Fd())), unix.Chroot(".")); err != nil {
		return fmt.Errorf("enter the root of the container's process: %w", err)
	}
	var err error
	if c.pivoted {
		var dir *os.File
		if dir, err = os.OpenFile("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			c.root = inroot.At(dir)
			err = checkOpenat2(dir)
		}
	} else {
		c.root, err = inroot.Open(rootfs)
	}
	if err != nil {
		return fmt.Errorf("open the container's root: %w", err)
	}
	defer c.root.Close()
	if c.space.table, err = c.space.readMounts(); err != nil {
		return err
	}
	if err := c.checkMounted(); err != nil {
		return fmt.Errorf("open the container's root: %w", err)
	}
	return do(c)
}

// checkOpenat2 fails with ErrOld if the kernel cannot resolve a path in a root. What
// inroot does instead needs a /proc, and here the only one is the container's.
func checkOpenat2(root *os.File) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	fd, err := unix.Openat2(int(root.Fd()), "/", &how)
	if err != nil {
		return ErrOld
	}
	return unix.Close(fd)
}

// checkMounted fails if nothing is mounted on the container's root. Every runtime
// mounts it before it pivots. Without a mount, the path leads to another directory than
// the container will have, and what we put there would be lost, or in the host's files.
func (c *Container) checkMounted() error {
	m, err := c.space.mountOf(c.root.Dir())
	if err != nil {
		return err
	}
	name := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(c.space.proc.Fd()), handlePath(c.root.Dir()), name)
	if err == nil && string(name[:n]) != m.Mountpoint {
		err = inroot.ErrNotMounted
	}
	return err
}

// asRoot calls do with the file system ids of the container's root user, so that this
// user owns what do makes. Where that user lacks the permission, it calls do as this
// process's user.
func (c *Container) asRoot(do func() error) error {
	if c.uid == 0 && c.gid == 0 {
		return do()
	}
	err := errors.Join(unix.Setfsgid(c.gid), unix.Setfsuid(c.uid))
	if err == nil {
		err = do()
	}
	if back := errors.Join(unix.Setfsuid(0), unix.Setfsgid(0)); back != nil {
		return errors.Join(err, back)
	}
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return do()
	}
	return err
}
