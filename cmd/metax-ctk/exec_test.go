package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunTool(t *testing.T) {
	tool := func(script string) string {
		path := filepath.Join(t.TempDir(), "tool")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Run("output", func(t *testing.T) {
		t.Setenv("LD_PRELOAD", "") // nothing of our environment reaches it
		t.Setenv("SECRET", "x")
		out, err := runTool(t.Context(), tool(`echo "$1:$SECRET:$LC_ALL"`), "-L")
		if err != nil || string(out) != "-L::C\n" {
			t.Errorf("got %q, %v", out, err)
		}
	})
	t.Run("failure", func(t *testing.T) {
		_, err := runTool(t.Context(), tool("echo no device >&2; echo more >&2; exit 3"))
		if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), `"no device"`) || strings.Contains(err.Error(), "more") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too much", func(t *testing.T) {
		_, err := runTool(t.Context(), tool("while :; do printf '%065536d' 0; done"))
		if err == nil || !strings.Contains(err.Error(), "printed more than") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		mark := filepath.Join(t.TempDir(), "alive")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		// A child that outlives the tool would hold its output open, and write.
		_, err := runTool(ctx, tool("(sleep 2; echo > "+mark+") & sleep 60"))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(2500 * time.Millisecond)
		if _, err := os.Stat(mark); err == nil {
			t.Error("a child of the tool lived on")
		}
	})
}

// TestStuck: a program that cannot be ended is not run again, others are.
func TestStuck(t *testing.T) {
	var s stuckPrograms
	runs := map[string]int{}
	run := func(path string, err error) error {
		_, err = s.unless(path, func() ([]byte, error) { runs[path]++; return nil, err })
		return err
	}
	late := fmt.Errorf("mx-smi: %w", errStuck)
	if err := run("/a", late); !errors.Is(err, errStuck) {
		t.Error(err)
	}
	if err := run("/a", nil); !errors.Is(err, errStuck) {
		t.Errorf("run again: %v", err)
	}
	_ = run("/b", context.DeadlineExceeded) // it was ended
	if err := run("/b", nil); err != nil || runs["/a"] != 1 || runs["/b"] != 2 {
		t.Errorf("%v, runs %v", err, runs)
	}
}
