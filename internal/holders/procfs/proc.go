package procfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Proc is a mounted proc file system.
type Proc struct {
	dir       string
	group     int
	namespace func() (uint64, error)
}

// New returns the proc file system at dir, "/proc" but in tests; the directory
// above it stands for the host's "/". What processes of root, of our own user and
// of the group say of themselves is believed; -1 is no group.
func New(dir string, group int) *Proc {
	p := &Proc{dir: filepath.Clean(dir), group: group}
	p.namespace = sync.OnceValues(p.ownNamespace)
	return p
}

// ErrForeign reports a proc file system that counts processes otherwise than we
// are counted: that of another pid namespace.
var ErrForeign = errors.New("shows another pid namespace")

// ownNamespace is the inode of our pid namespace, which must be the one that is
// mounted here.
func (p *Proc) ownNamespace() (uint64, error) {
	self, err := os.Readlink(p.dir + "/self")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("find our pid: %w", err)
	}
	if self != strconv.Itoa(os.Getpid()) {
		return 0, fmt.Errorf("find our pid: %s %w", p.dir, ErrForeign)
	}
	path := p.dir + "/self/ns/pid"
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, fmt.Errorf("find our pid namespace: stat %s: %w", path, err)
	}
	return st.Ino, nil
}

// BootID returns the id of this boot of the host.
func (p *Proc) BootID() (string, error) {
	text, err := os.ReadFile(p.dir + "/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("find the id of this boot: %w", err)
	}
	id := strings.TrimSpace(string(text))
	if id == "" {
		return "", fmt.Errorf("find the id of this boot: %s/sys/kernel/random/boot_id is empty", p.dir)
	}
	return id, nil
}

// Uptime is the time since the host started, with the time that it slept.
func (p *Proc) Uptime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0 // there since Linux 2.6.39
	}
	return time.Duration(now.Nano())
}
