// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// Namespace is the mount namespace of the calling thread, as a /proc shows it that is
// known to be one.
type Namespace struct {
	proc  *os.File
	table mountTable // from before the last Mount
}

// ThisNamespace opens the machine's /proc and reads the mount table of the calling
// thread.
func ThisNamespace() (*Namespace, error) {
	proc, err := os.OpenFile("/proc", unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /proc: %w", err)
	}
	n := &Namespace{proc: proc}
	var fs unix.Statfs_t
	if err = unix.Fstatfs(int(proc.Fd()), &fs); err == nil && fs.Type != unix.PROC_SUPER_MAGIC {
		err = errors.New("it is not the kernel's")
	}
	if err != nil {
		err = fmt.Errorf("open /proc: %w", err)
	} else {
		n.table, err = n.readMounts()
	}
	if err != nil {
		proc.Close()
		return nil, err
	}
	return n, nil
}

// Close closes the handle on /proc.
func (n *Namespace) Close() error { return n.proc.Close() }

// Mount is mount(2) on the file that a handle refers to, and on what has been mounted
// over it; source is a handle to bind, or nil. It is for kernels that cannot mount by
// handles: the only paths it passes are those of the handles in /proc, which no image
// can change. It leaves the thread in another working directory.
func (n *Namespace) Mount(source, target *os.File, fstype string, flags uintptr, data string) error {
	table, err := n.readMounts()
	if err != nil {
		return err
	}
	n.table = table
	return n.mountViaProc(source, target, fstype, flags, data)
}

func (n *Namespace) mountViaProc(source, target *os.File, fstype string, flags uintptr, data string) error {
	if err := unix.Fchdir(int(n.proc.Fd())); err != nil {
		return fmt.Errorf("change to /proc: %w", err)
	}
	from := fstype
	if source != nil {
		from = handlePath(source)
	}
	return unix.Mount(from, handlePath(target), fstype, flags, data)
}

// New fails with ErrMoved if a handle is on a mount that was there before the last
// Mount.
func (n *Namespace) New(f *os.File) error {
	id, err := n.mountID(f)
	if err != nil {
		return err
	}
	if _, before := n.table[id]; before {
		return ErrMoved
	}
	return nil
}

// handlePath is the path of a handle below /proc.
func handlePath(f *os.File) string { return "thread-self/fd/" + strconv.Itoa(int(f.Fd())) }

// openThreadFile opens a file of this thread's directory in our /proc.
func (n *Namespace) openThreadFile(name string) (*os.File, error) {
	fd, err := unix.Openat(int(n.proc.Fd()), "thread-self/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /proc/thread-self/%s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// readMounts reads the mount table of the thread's namespace.
func (n *Namespace) readMounts() (mountTable, error) {
	f, err := n.openThreadFile("mountinfo")
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
func (n *Namespace) mountOf(f *os.File) (*mountinfo.Info, error) {
	id, err := n.mountID(f)
	if err != nil {
		return nil, err
	}
	if m, ok := n.table[id]; ok {
		return m, nil
	}
	// We may have made it since the table was read.
	if n.table, err = n.readMounts(); err != nil {
		return nil, err
	}
	if m, ok := n.table[id]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("find the mount of %s: %w", f.Name(), unix.ENOENT)
}

func (n *Namespace) mountID(f *os.File) (int, error) {
	info, err := n.openThreadFile("fdinfo/" + strconv.Itoa(int(f.Fd())))
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

// mountTable is a mount table by mount id.
type mountTable map[int]*mountinfo.Info

// deviceNumbers are the device numbers of file systems.
type deviceNumbers map[uint64]bool

func (t mountTable) mountedDevices() deviceNumbers {
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
