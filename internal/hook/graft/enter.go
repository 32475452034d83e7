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
	pivoted bool
	uid     int // who the container's root is to us
	gid     int
	proc    *os.File // our own /proc: the container's may be anything
	host    devices  // of the file systems that the host has mounted
	table   table
}

// Root is the handle on the container's root.
func (c *Container) Root() *inroot.Root { return c.root }

// Pivoted tells whether the container's process has left the host's root. As long
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
	var own unix.Stat_t
	if err := unix.Stat("/", &own); err != nil {
		return fmt.Errorf("stat our root: %w", err)
	}
	done := make(chan error)
	go func() {
		// Never unlocked, so that the thread dies with the goroutine.
		runtime.LockOSThread()
		done <- c.inside(ns, rootfs, own, do)
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
	if c.proc, err = os.OpenFile("/proc", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open /proc: %w", err)
	}
	mounts, err := c.mounts()
	if err == nil {
		c.host = mounts.devices()
		return nil
	}
	c.proc.Close()
	return err
}

func (c *Container) inside(ns *os.File, rootfs string, own unix.Stat_t, do func(*Container) error) error {
	// A thread that shares its root and directory with others may not leave them.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the process's directory: %w", err)
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("enter the container's mount namespace: %w", err)
	}
	var now unix.Stat_t
	if err := unix.Stat("/", &now); err != nil {
		return fmt.Errorf("stat the container's root: %w", err)
	}
	c.pivoted = now.Dev != own.Dev || now.Ino != own.Ino
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
	return do(c)
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
