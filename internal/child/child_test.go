// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

func TestTool(t *testing.T) {
	tool := func(script string) string {
		path := filepath.Join(t.TempDir(), "tool")
		testfile.Write(t, path, "#!/bin/sh\n"+script, 0o755)
		return path
	}
	t.Run("output", func(t *testing.T) {
		t.Setenv("LD_PRELOAD", "") // nothing of our environment reaches it
		t.Setenv("SECRET", "x")
		out, err := Tool(t.Context(), tool(`echo "$1:$SECRET:$LC_ALL"`), "-L")
		if err != nil || string(out) != "-L::C\n" {
			t.Errorf("got %q, %v", out, err)
		}
	})
	t.Run("failure", func(t *testing.T) {
		_, err := Tool(t.Context(), tool("echo no device >&2; echo more >&2; exit 3"))
		if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), `"no device"`) || strings.Contains(err.Error(), "more") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("too much", func(t *testing.T) {
		_, err := Tool(t.Context(), tool("while :; do printf '%065536d' 0; done"))
		if err == nil || !strings.Contains(err.Error(), "printed more than") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		mark := filepath.Join(t.TempDir(), "alive")
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		// A child that outlives the tool would hold its output open, and write.
		_, err := Tool(ctx, tool("(sleep 2; echo > "+mark+") & sleep 60"))
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

// A program that cannot even be killed does not hold us.
func TestAwait(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	never := make(chan struct{})
	defer close(never)
	err := await(ctx, func() error { <-never; return nil })
	if !errors.Is(err, errStuck) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	slow := func() error { <-ctx.Done(); return errors.New("killed") }
	if err := await(ctx, slow); err == nil || err.Error() != "killed" {
		t.Errorf("error is %v", err)
	}
	if err := await(t.Context(), func() error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestLibrary(t *testing.T) {
	for _, path := range []string{"off", ""} { // none is beside the test
		t.Setenv(LibraryVariable, path)
		if Library() != nil {
			t.Errorf("%q can be run", path)
		}
	}
	for _, path := range []string{"metax-mxsml", t.TempDir(), "/nonexistent"} {
		t.Setenv(LibraryVariable, path)
		if _, err := Library()(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s=%q", LibraryVariable, path)) {
			t.Errorf("%q: error is %v", path, err)
		}
	}

	script := filepath.Join(t.TempDir(), "metax-mxsml")
	testfile.Write(t, script, "#!/bin/sh\necho \"$@:$LD_LIBRARY_PATH\"; echo why >&2; exit 3", 0o755)
	t.Setenv(LibraryVariable, script)
	t.Setenv("LD_LIBRARY_PATH", "/x")
	out, err := Library()(t.Context(), "a", "b")
	var exit interface{ ExitCode() int }
	if string(out) != "a b:\n" || !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(err.Error(), `"why"`) {
		t.Errorf("got %q, %v", out, err)
	}
}
