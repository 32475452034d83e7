package graft

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// Container is the mount namespace of a container, entered.
type Container struct {
	root    *inroot.Root
	slash   *os.File // the root directory of the container's process
	pivoted bool
	uid     int // who the container's root is to us
	gid     int
	proc    *os.File // our own /proc: the container's may be anything
	host    devices  // of the file systems that the host has mounted
	table   table
}

// Pivoted reports whether the container's process has left the host's root. As long
// as it has not, paths of the host lead to the host's files in its namespace too.
func (c *Container) Pivoted() bool { return c.pivoted }

// Enter calls do in the mount namespace of the container's process. The root is
// the directory rootfs, an absolute path of the host, as the container's namespace
// has it; a process that has pivoted already has it as its own root. Enter returns
// when do has; the thread that was inside ends and is not used for anything else.
func (p *Process) Enter(rootfs string, do func(*Container) error) error {
	ns, err := p.namespace()
	if err != nil {
		return err
	}
	defer ns.Close()
	c := &Container{}
	if err := c.prepare(p); err != nil {
		return err
	}
	defer c.proc.Close()
	defer c.slash.Close()
	done := make(chan error)
	go func() {
		// Never unlocked, so that the thread dies with the goroutine.
		runtime.LockOSThread()
		done <- c.inside(ns, rootfs, do)
	}()
	return <-done
}

// prepare gathers what can no longer be trusted, or found, inside.
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
	if c.slash, err = p.root(); err != nil {
		return err
	}
	if c.pivoted, err = elsewhere(c.slash); err != nil {
		c.slash.Close()
		return err
	}
	if c.proc, err = os.OpenFile("/proc", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		c.slash.Close()
		return fmt.Errorf("open /proc: %w", err)
	}
	mounts, err := c.mounts()
	if err == nil {
		c.host = mounts.devices()
		return nil
	}
	c.proc.Close()
	c.slash.Close()
	return err
}

// elsewhere reports whether a directory is another than our own root.
func elsewhere(dir *os.File) (bool, error) {
	var own, st unix.Stat_t
	if err := errors.Join(unix.Stat("/", &own), unix.Fstat(int(dir.Fd()), &st)); err != nil {
		return false, fmt.Errorf("stat the container's root: %w", err)
	}
	return st.Dev != own.Dev || st.Ino != own.Ino, nil
}

func (c *Container) inside(ns *os.File, rootfs string, do func(*Container) error) error {
	// A thread that shares its root and directory with others may not leave them.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the process's directory: %w", err)
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the container's mount namespace: %w", err)
	}
	// An engine may run in a changed root. A namespace knows nothing of that: its
	// own root is what a thread that enters it gets.
	if err := errors.Join(unix.Fchdir(int(c.slash.Fd())), unix.Chroot(".")); err != nil {
		return fmt.Errorf("enter the root of the container's process: %w", err)
	}
	var err error
	if c.pivoted {
		var dir *os.File
		if dir, err = os.OpenFile("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			c.root = inroot.At(dir)
		}
	} else {
		c.root, err = inroot.Open(rootfs)
	}
	if err != nil {
		return fmt.Errorf("open the container's root: %w", err)
	}
	defer c.root.Close()
	if c.table, err = c.mounts(); err != nil {
		return err
	}
	if err := c.atMount(); err != nil {
		return fmt.Errorf("open the container's root: %w", err)
	}
	return do(c)
}

// atMount fails if the container's root is not where something is mounted, as
// every runtime has it before it pivots: then the path leads to another directory
// than the container will have, and what we put there would be lost or the host's.
func (c *Container) atMount() error {
	m, err := c.mount(c.root.Dir())
	if err != nil {
		return err
	}
	name := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(c.proc.Fd()), handlePath(int(c.root.Dir().Fd())), name)
	if err == nil && string(name[:n]) != m.Mountpoint {
		err = inroot.ErrNotMounted
	}
	return err
}

// asRoot does something as the container's root, so that what it makes on the
// container's file systems is the container's, and where root may not, as us.
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
