package graft

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// table is a mount table by the mounts' ids.
type table map[int]*mountinfo.Info

// devices are the numbers of file systems.
type devices map[uint64]bool

func (t table) devices() devices {
	set := devices{}
	for _, m := range t {
		set[unix.Mkdev(uint32(m.Major), uint32(m.Minor))] = true
	}
	return set
}

// shared reports whether what is mounted on the mount is seen elsewhere.
func shared(m *mountinfo.Info) bool {
	return strings.Contains(" "+m.Optional, " shared:")
}

// own opens a file of this very thread below our /proc.
func (c *Container) own(name string) (*os.File, error) {
	fd, err := unix.Openat(int(c.proc.Fd()), "thread-self/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /proc/thread-self/%s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// mounts reads the mount table of the namespace that the thread is in.
func (c *Container) mounts() (table, error) {
	f, err := c.own("mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := mountinfo.GetMountsFromReader(f, nil)
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	t := make(table, len(list))
	for _, m := range list {
		t[m.ID] = m
	}
	return t, nil
}

// mount returns the mount that a handle is on.
func (c *Container) mount(f *os.File) (*mountinfo.Info, error) {
	id, err := c.mountID(f)
	if err != nil {
		return nil, err
	}
	if m, ok := c.table[id]; ok {
		return m, nil
	}
	// It may be one of ours, made since.
	if c.table, err = c.mounts(); err != nil {
		return nil, err
	}
	if m, ok := c.table[id]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("find the mount of %s: %w", f.Name(), unix.ENOENT)
}

func (c *Container) mountID(f *os.File) (int, error) {
	info, err := c.own("fdinfo/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return 0, err
	}
	defer info.Close()
	text, err := io.ReadAll(info)
	if err != nil {
		return 0, fmt.Errorf("read the mount of %s: %w", f.Name(), err)
	}
	id, err := inroot.MountID(text)
	if err != nil {
		return 0, fmt.Errorf("read the mount of %s: %w", f.Name(), err)
	}
	return id, nil
}
