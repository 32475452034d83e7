package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// maxToolOutput bounds what the vendor's tool may print, in bytes: its matrix of
// a thousand GPUs takes about as much.
const maxToolOutput = 8 << 20

// runTool runs the vendor's tool with no input, a short environment and an end:
// whoever asks has a deadline in ctx, and at its end the tool is killed.
func runTool(ctx context.Context, path string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second
	// What the tool started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stdout, stderr capped
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no answer in time: %w", ctx.Err())
	case ctx.Err() != nil:
		err = ctx.Err()
	case stdout.full || stderr.full:
		err = fmt.Errorf("it printed more than %d bytes", maxToolOutput)
	case err != nil && len(stderr.text) > 0:
		first, _, _ := strings.Cut(strings.TrimSpace(string(stderr.text)), "\n")
		err = fmt.Errorf("%w: %.200q", err, first)
	case err == nil:
		return stdout.text, nil
	}
	return nil, fmt.Errorf("run %s %s: %w", path, strings.Join(args, " "), err)
}

// capped keeps what is written to it up to maxToolOutput bytes; beyond, it fails
// the writer.
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
