package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// runTool runs the vendor's tool with no input, a short environment and an end:
// whoever asks has a deadline in ctx, and a tool that ignores its end is left
// behind after a second.
func runTool(ctx context.Context, path string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("run %s %s: %w", path, strings.Join(args, " "), ctx.Err())
	}
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("run %s %s: %w: %.200q", path, strings.Join(args, " "), err, first)
	}
	return out, nil
}
