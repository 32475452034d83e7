// SPDX-License-Identifier: Apache-2.0

// Package child runs the vendor's programs, and metax-mxsml, which loads the vendor's library.
// Such a program may print without end, start others, or hang in a driver where no signal
// reaches it. None of that holds up the caller.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxToolOutput bounds what the vendor's tool may print, in bytes: about its matrix of a
// thousand GPUs.
const maxToolOutput = 8 << 20

// Tool is Run without the output of a program that failed.
func Tool(ctx context.Context, path string, args ...string) ([]byte, error) {
	out, err := Run(ctx, path, args...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// LibraryVariable names another metax-mxsml than the one beside this program, by an
// absolute path, or "off" for none.
const LibraryVariable = "METAX_CTK_MXSML"

// Library returns what runs metax-mxsml; nil if it is not there.
func Library() func(ctx context.Context, args ...string) ([]byte, error) {
	path, named := os.Getenv(LibraryVariable), true
	switch path {
	case "off":
		return nil
	case "":
		self, err := os.Executable()
		if err != nil {
			return nil
		}
		path, named = filepath.Join(filepath.Dir(self), "metax-mxsml"), false
	}
	if info, err := os.Stat(path); err != nil || !filepath.IsAbs(path) || !info.Mode().IsRegular() {
		if !named {
			return nil
		}
		return func(context.Context, ...string) ([]byte, error) {
			return nil, fmt.Errorf("%s=%q is neither off nor the absolute path of a program", LibraryVariable, path)
		}
	}
	return func(ctx context.Context, args ...string) ([]byte, error) { return Run(ctx, path, args...) }
}

// Run runs a program without input and with a short environment. At the end of ctx,
// which has a deadline, the program is killed. Its output is returned also when it fails. A
// program that could not be ended is not run again: each further one would hang beside it.
func Run(ctx context.Context, path string, args ...string) ([]byte, error) {
	return stuck.unless(path, func() ([]byte, error) { return start(ctx, "", path, args...) })
}

// Below is Run for the programs of another host, whose root is at a directory: a program sees
// that root as its own. It needs the capability CAP_SYS_CHROOT.
func Below(root string) func(ctx context.Context, path string, args ...string) ([]byte, error) {
	return func(ctx context.Context, path string, args ...string) ([]byte, error) {
		return stuck.unless(path, func() ([]byte, error) { return start(ctx, root, path, args...) })
	}
}

// stuckPrograms are those that could not be ended, by path.
type stuckPrograms struct{ errs sync.Map }

var stuck stuckPrograms

// unless runs a program, unless it could not be ended before.
func (s *stuckPrograms) unless(path string, run func() ([]byte, error)) ([]byte, error) {
	if err, known := s.errs.Load(path); known {
		return nil, err.(error)
	}
	out, err := run()
	if errors.Is(err, errStuck) {
		s.errs.Store(path, err)
	}
	return out, err
}

// start is Run for a program that has not been stuck yet, below a root unless that is "".
func start(ctx context.Context, root, path string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"} // dockerd --validate looks for docker-proxy
	cmd.WaitDelay = time.Second
	// Processes that the tool started end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if root != "" {
		cmd.Dir, cmd.SysProcAttr.Chroot = "/", root
		// systemctl does nothing in a chroot unless it is told that this one is the host.
		cmd.Env = append(cmd.Env, "SYSTEMD_IGNORE_CHROOT=1")
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stdout, stderr capped
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := await(ctx, cmd.Run)
	switch {
	case errors.Is(err, errStuck):
		// It may still write to its buffers, so they must not be read.
		return nil, fmt.Errorf("run %s %s: %w", path, strings.Join(args, " "), err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	case ctx.Err() != nil:
		err = ctx.Err()
	case stdout.full || stderr.full:
		err = fmt.Errorf("it printed more than %d bytes", maxToolOutput)
	case err != nil && len(stderr.text) > 0:
		first, _, _ := strings.Cut(strings.TrimSpace(string(stderr.text)), "\n")
		err = failure{fmt.Errorf("%w: %.200q", err, first), string(stderr.text)}
	case err == nil:
		return stdout.text, nil
	}
	return stdout.text, fmt.Errorf("run %s %s: %w", path, strings.Join(args, " "), err)
}

// failure is the error of a program that failed and said why. errors.As finds it by its
// method.
type failure struct {
	error
	stderr string
}

// Stderr is all that the program printed there.
func (f failure) Stderr() string { return f.stderr }

func (f failure) Unwrap() error { return f.error }

// errStuck reports a program that waits in a driver, where SIGKILL does not reach it.
var errStuck = errors.New("it cannot be ended")

// killTimeout is how long a program has from its end by SIGKILL until it is gone, and its
// output is closed.
const killTimeout = 3 * time.Second

// await returns what run does, or errStuck some time after the end of ctx. A program that
// hangs in its driver would hang us as well.
func await(ctx context.Context, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(killTimeout):
		return fmt.Errorf("%w: %w", errStuck, ctx.Err())
	}
}

// capped keeps what is written to it up to maxToolOutput bytes; beyond, it fails the writer.
type capped struct {
	text []byte
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.full = c.full || len(c.text)+len(p) > maxToolOutput; c.full {
		return 0, errors.New("too much output")
	}
	c.text = append(c.text, p...)
	return len(p), nil
}
