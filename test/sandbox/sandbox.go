// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// BinDir is where Config.Bin appears inside, BuiltDir where Config.Built does.
const (
	BinDir   = "/e2e"
	BuiltDir = "/built"
)

// Config is the content of the sandbox.
type Config struct {
	// Root is the unpacked root file system. It is a lower layer and stays untouched.
	Root string
	// Bin is a directory of the machine that appears read-only as BinDir.
	Bin string
	// Built is one that appears read-only as BuiltDir, and is not in the PATH: it has
	// engines of which the root has others.
	Built string
	// Layout is how cgroups are mounted.
	Layout Layout
	// Cgroup names the cgroup, below the root of every hierarchy, that containers are put
	// under. The sandbox removes it at the end; it makes none itself.
	Cgroup string
}

// Sandbox is a running set of namespaces. Its processes are started with Command.
type Sandbox struct {
	cfg  Config
	init *exec.Cmd
}

// Start creates the namespaces and mounts, and returns when they are usable. The
// calling program must call Main first if IsInit reports true: it is run again as the
// first process in the namespaces. If the caller dies, the namespaces end with it.
func Start(cfg Config) (*Sandbox, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	ready, answer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()

	cmd := exec.Command("/proc/self/exe", string(text))
	cmd.Args[0] = initName
	cmd.Env = []string{}
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{answer}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
		// A signal it can handle: it still has cgroups to remove.
		Pdeathsig: syscall.SIGTERM,
		// Its own group, so an interrupt typed at the tests reaches it through us alone.
		Setpgid: true,
	}
	err = cmd.Start()
	answer.Close()
	if err != nil {
		return nil, fmt.Errorf("start the namespaces: %w", err)
	}
	s := &Sandbox{cfg: cfg, init: cmd}
	said, err := io.ReadAll(ready)
	if err == nil && string(said) != readyWord {
		err = errors.New(string(said))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the namespaces: %w", err), s.Close())
	}
	return s, nil
}

// Cgroup is the cgroup path that engines must put containers under, such as "/metax-e2e-7".
func (s *Sandbox) Cgroup() string { return "/" + s.cfg.Cgroup }

// Path is where the machine sees the sandbox's absolute path p. A symlink on the way that is
// absolute leads out of the sandbox, so p must name real directories.
func (s *Sandbox) Path(p string) string {
	return filepath.Join("/proc", strconv.Itoa(s.init.Process.Pid), "root", p)
}

// WriteFile writes the file p inside, and the directories above it.
func (s *Sandbox) WriteFile(p, text string) error {
	host := s.Path(p)
	if err := os.MkdirAll(filepath.Dir(host), 0o755); err != nil {
		return err
	}
	return os.WriteFile(host, []byte(text), 0o644)
}

// Command prepares a process inside: its root and all its namespaces are the sandbox's.
// Binaries of Config.Bin come first in its PATH; env is added to that. nsenter stands
// between: see Inner for the process itself.
func (s *Sandbox) Command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	argv := []string{"-t", strconv.Itoa(s.init.Process.Pid), "-m", "-n", "-p", "-r", "-w", "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(argv, args...)...)
	cmd.Env = append([]string{
		"PATH=" + BinDir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "LANG=C.UTF-8",
	}, env...)
	// A process that remains keeps the pipes open; the test must not wait for it.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Inner returns the pid, as the machine counts, of the process that a started Command runs.
// nsenter is its parent, because a pid namespace takes only the children of whoever enters.
func Inner(ctx context.Context, cmd *exec.Cmd) (int, error) {
	pid := strconv.Itoa(cmd.Process.Pid)
	for {
		children, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
		if err != nil {
			return 0, fmt.Errorf("find the process behind nsenter: %w", err)
		}
		if child := strings.TrimSpace(string(children)); child != "" {
			return strconv.Atoi(child)
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("find the process behind nsenter: %w", ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Close ends every process inside and removes what the machine could still see of them.
// Call it once.
func (s *Sandbox) Close() error {
	err := s.init.Process.Signal(syscall.SIGTERM)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if werr := s.init.Wait(); werr != nil {
		err = errors.Join(err, fmt.Errorf("end the namespaces: %w", werr))
	}
	return err
}
