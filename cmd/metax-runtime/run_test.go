// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// became runs the program in this process, and returns what it would become and what it says.
func became(t *testing.T, args, env []string) (words [][]string, said string) {
	t.Helper()
	var text strings.Builder
	d := tested()
	d.Args, d.Env, d.Err = args, env, &text
	d.Exec = func(path string, argv, env []string) error {
		words = [][]string{{path}, argv, env}
		return syscall.ENOEXEC
	}
	if code := execRuntime(d); code != 1 {
		t.Errorf("exit code %d", code)
	}
	return words, text.String()
}

// TestStartRuntime: the low-level runtime gets its own path as its name, as when an
// engine calls it directly, and everything else unchanged.
func TestStartRuntime(t *testing.T) {
	for name, config := range map[string]string{"quiet": quiet, "asking": asking} {
		t.Run(name, func(t *testing.T) {
			dir := scene(t, config)
			env := []string{"A=1", "A=2", "B", "=C", "", "METAX_VISIBLE_DEVICES=all", "LISTEN_FDS=1"}
			for _, args := range [][]string{
				{"create", "--bundle", dir + "/bundle", "", "x y", "--"},
				{"state", "x"},
				{},
			} {
				got, said := became(t, args, env)
				want := [][]string{{dir + "/bin/runc"}, append([]string{dir + "/bin/runc"}, args...), env}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
				if want := "metax-runtime: start " + dir + "/bin/runc: exec format error\n"; said != want {
					t.Errorf("%q, want %q", said, want)
				}
			}
		})
	}
}

// TestOneLine: the message is one line, whatever a path or a request contains.
func TestOneLine(t *testing.T) {
	dir := scene(t, quiet)
	for _, bundle := range []string{dir + "/a\nb\r\x1b[2Jc\u009b2J\x7f", dir + "/none"} {
		log := filepath.Join(dir, "log")
		_, said := became(t, []string{"--log", log, "create", "--bundle", bundle, "x"}, nil)
		for _, text := range []string{said, read(t, log)} {
			if strings.IndexFunc(strings.TrimSuffix(text, "\n"), unicode.IsControl) >= 0 || !strings.HasSuffix(text, "\n") {
				t.Errorf("not one printable line: %q", text)
			}
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLogNobodyReads: a FIFO as the log does not block the program.
func TestLogNobodyReads(t *testing.T) {
	dir := scene(t, quiet)
	log := filepath.Join(dir, "log")
	if err := syscall.Mkfifo(log, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan string)
	go func() {
		_, said := became(t, []string{"--log", log, "create", "--bundle", dir + "/none", "x"}, nil)
		done <- said
	}()
	select {
	case said := <-done:
		if !strings.Contains(said, "no such file or directory (also could not write it to the runtime's log: ") {
			t.Errorf("%q does not say that the log has no entry", said)
		}
	case <-time.After(time.Minute):
		t.Error("still there")
	}
}
