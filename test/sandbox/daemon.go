// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Daemon is a process of a sandbox that serves. It may be ended and started again.
type Daemon struct {
	// Command makes the process, which Start starts.
	Command func() *exec.Cmd
	// Ready returns nil once the process serves.
	Ready func(context.Context) error
	// Log gets what the process prints. It is a file: a pipe would stay open as long as any
	// child of a killed daemon.
	Log *os.File

	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts the process and returns when it is ready. It fails if the process ends before,
// and when the context ends.
func (d *Daemon) Start(ctx context.Context) error {
	cmd := d.Command()
	cmd.Stdout, cmd.Stderr = d.Log, d.Log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() // how it ended is in its log
		close(ended)
	}()
	d.cmd, d.ended = cmd, ended
	for {
		err := d.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("it ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends the process with SIGTERM, Kill with SIGKILL. Both return when it has ended, and
// nil if it does not run.
func (d *Daemon) Stop() error { return d.end(syscall.SIGTERM) }
func (d *Daemon) Kill() error { return d.end(syscall.SIGKILL) }

func (d *Daemon) end(signal syscall.Signal) error {
	if d.cmd == nil {
		return nil
	}
	d.Signal(signal) // it may have ended
	var err error
	select {
	case <-d.ended:
	case <-time.After(15 * time.Second):
		err = errors.New("it does not stop")
		d.cmd.Process.Kill()
		<-d.ended
	}
	d.cmd = nil
	return err
}

// Signal sends the started process a signal.
func (d *Daemon) Signal(signal syscall.Signal) error {
	pid, err := Inner(context.Background(), d.cmd)
	if err != nil {
		return err
	}
	if signal == syscall.SIGCONT {
		_ = d.cmd.Process.Signal(signal) // nsenter stops with the process behind it
	}
	return syscall.Kill(pid, signal)
}

// Tail returns the last lines of the log.
func (d *Daemon) Tail(lines int) string {
	text, err := os.ReadFile(d.Log.Name())
	if err != nil {
		return err.Error()
	}
	list := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(list[max(0, len(list)-lines):], "\n")
}
