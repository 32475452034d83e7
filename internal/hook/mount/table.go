package mount

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

// mountTable is a mount table by mount id.
type mountTable map[int]*mountinfo.Info

// deviceNumbers are the device numbers of file systems.
type deviceNumbers map[uint64]bool

func (t mountTable) devices() deviceNumbers {
	set := deviceNumbers{}
	for _, m := range t {
		set[unix.Mkdev(uint32(m.Major), uint32(m.Minor))] = true
	}
	return set
}

// isShared reports whether a mount on m would also appear elsewhere.
func isShared(m *mountinfo.Info) bool {
	return strings.Contains(" "+m.Optional, " shared:")
}

// openThreadFile opens a file of this thread's directory in our /proc.
func (c *Container) openThreadFile(name string) (*os.File, error) {
	fd, err := unix.Openat(int(c.proc.Fd()), "thread-self/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /proc/thread-self/%s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// readMounts reads the mount table of the thread's namespace.
func (c *Container) readMounts() (mountTable, error) {
	f, err := c.openThreadFile("mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := mountinfo.GetMountsFromReader(f, nil)
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	t := make(mountTable, len(list))
	for _, m := range list {
		t[m.ID] = m
	}
	return t, nil
}

// mountOf returns the mount that a handle is on.
func (c *Container) mountOf(f *os.File) (*mountinfo.Info, error) {
	id, err := c.mountID(f)
	if err != nil {
		return nil, err
	}
	if m, ok := c.table[id]; ok {
		return m, nil
	}
	// We may have made it since the table was read.
	if c.table, err = c.readMounts(); err != nil {
		return nil, err
	}
	if m, ok := c.table[id]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("find the mount of %s: %w", f.Name(), unix.ENOENT)
}

func (c *Container) mountID(f *os.File) (int, error) {
	info, err := c.openThreadFile("fdinfo/" + strconv.Itoa(int(f.Fd())))
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
