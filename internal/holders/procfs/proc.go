// SPDX-License-Identifier: Apache-2.0

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

	"github.com/metax-ctk/container-toolkit/internal/holders/drmclients"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Proc is a mounted proc file system.
type Proc struct {
	dir       string
	group     int
	namespace func() (uint64, error)
	lists     drmclients.Lists
}

// New returns the proc file system at dir: "/proc", except in tests. The directory above it
// stands for the host's "/". Command lines, names and paths are trusted from processes of
// root, of this user, and of members of group (-1: no group).
func New(dir string, group int) *Proc {
	p := &Proc{dir: filepath.Clean(dir), group: group}
	p.lists = drmclients.New(filepath.Join(p.dir, "../sys/kernel/debug/dri"), drmclients.IsDebugfs)
	p.namespace = sync.OnceValues(p.ownNamespace)
	return p
}

// ErrForeign reports a proc file system of another pid namespace: its pids are not ours.
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

// Uptime returns the time since the host started, including suspend.
func (p *Proc) Uptime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0 // cannot happen: CLOCK_BOOTTIME exists since Linux 2.6.39
	}
	return time.Duration(now.Nano())
}

// Self returns our own process as a client. It fails with ErrForeign where /proc is that of
// another pid namespace, since nobody could find this process there.
func (p *Proc) Self() (usage.Client, error) { return p.Client(os.Getpid()) }

// Client returns the process as a client. PIDNamespace is always our own, also for a
// process in a namespace below ours: the pid counts in ours.
func (p *Proc) Client(pid int) (usage.Client, error) {
	namespace, err := p.namespace()
	if err != nil {
		return usage.Client{}, err
	}
	var buf [statSize]byte
	s, err := p.readStat(pid, buf[:])
	if err != nil {
		return usage.Client{}, err
	}
	return usage.Client{PID: pid, Start: s.start, PIDNamespace: namespace}, nil
}

// Liveness returns whether a client is alive. It returns Unseen for a client of another pid
// namespace, and for one whose pid exists but may not be inspected: it may be another
// process now.
func (p *Proc) Liveness(c usage.Client) usage.Liveness {
	namespace, err := p.namespace()
	if err != nil || c.PIDNamespace != namespace || c.PID <= 0 {
		return usage.Unseen
	}
	var buf [statSize]byte
	s, err := p.readStat(c.PID, buf[:])
	switch {
	case err == nil && (s.start != c.Start || s.ended()):
		return usage.Ended
	case err == nil:
		return usage.Alive
	// A /proc mounted with hidepid shows no directory for processes of other users, but
	// kill(2) still reports whether the pid exists.
	case (isProcessGone(err) || isAccessDenied(err)) && errors.Is(unix.Kill(c.PID, 0), unix.ESRCH):
		return usage.Ended
	}
	return usage.Unseen
}

// statSize has room for what parseStat reads: a name of at most 64 bytes, and 20
// numbers of at most 20 digits.
const statSize = 512

func (p *Proc) readStat(pid int, buf []byte) (stat, error) {
	path := p.dir + "/" + strconv.Itoa(pid) + "/stat"
	text, err := readAt(unix.AT_FDCWD, path, buf)
	if err != nil {
		return stat{}, fmt.Errorf("read %s: %w", path, err)
	}
	s, ok := parseStat(text)
	if !ok {
		return stat{}, fmt.Errorf("read %s: no process status: %q", path, text)
	}
	return s, nil
}
