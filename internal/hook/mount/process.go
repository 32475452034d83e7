// SPDX-License-Identifier: Apache-2.0

package mount

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

var (
	// ErrProcess reports a pid that is not that of a container being made.
	ErrProcess = errors.New("not the process of a starting container")
	// ErrNamespace reports a container that shares our mount namespace.
	ErrNamespace = errors.New("the container has no mount namespace of its own")
)

// Process is a handle on a process. It never refers to another process, even if the
// kernel gives the pid to a new one.
type Process struct {
	dir *os.File // /proc/PID
	pid int
}

// OpenProcess opens the container's process by the pid from the runtime. A process that
// is younger than this one cannot be the one that the runtime meant.
func OpenProcess(pid int) (*Process, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("open process %d: %w", pid, ErrProcess)
	}
	dir, err := os.OpenFile(filepath.Join("/proc", strconv.Itoa(pid)), unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	p := &Process{dir, pid}
	born, err := p.startedAt()
	if err == nil {
		var self uint64
		if self, err = ownStart(); err == nil && born > self {
			err = fmt.Errorf("%w: it began after this hook", ErrProcess)
		}
	}
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	return p, nil
}

// Close closes the handle.
func (p *Process) Close() error { return p.dir.Close() }

// Cgroup is the text of the process's /proc/PID/cgroup.
func (p *Process) Cgroup() (string, error) {
	text, err := p.readProcFile("cgroup")
	return string(text), err
}

// startedAt is when the process began, in clock ticks since the machine did.
func (p *Process) startedAt() (uint64, error) {
	text, err := p.readProcFile("stat")
	if err != nil {
		return 0, err
	}
	return startTime(text)
}

func ownStart() (uint64, error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	return startTime(text)
}

// startTime is field 22 of a stat file. The name, field 2, may contain anything in its
// parentheses.
func startTime(stat []byte) (uint64, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("read its start time: %w", ErrProcess)
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}

func (p *Process) open(name string) (*os.File, error) {
	fd, err := unix.Openat(int(p.dir.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s of process %d: %w", name, p.pid, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (p *Process) readProcFile(name string) ([]byte, error) {
	f, err := p.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s of process %d: %w", name, p.pid, err)
	}
	return text, nil
}

// openRoot opens the process's root directory.
func (p *Process) openRoot() (*os.File, error) {
	fd, err := unix.Openat(int(p.dir.Fd()), "root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the root of process %d: %w", p.pid, err)
	}
	return os.NewFile(uintptr(fd), "root"), nil
}

// openMountNamespace opens the process's mount namespace, which must not be ours.
func (p *Process) openMountNamespace() (*os.File, error) {
	ns, err := p.open("ns/mnt")
	if err != nil {
		return nil, err
	}
	var own, st unix.Stat_t
	err = errors.Join(unix.Stat("/proc/self/ns/mnt", &own), unix.Fstat(int(ns.Fd()), &st))
	if err == nil && own.Dev == st.Dev && own.Ino == st.Ino {
		err = ErrNamespace
	}
	if err != nil {
		ns.Close()
		return nil, fmt.Errorf("enter process %d: %w", p.pid, err)
	}
	return ns, nil
}
