// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/test/needs"
	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/trusted"
)

func settings(level, format, file string) config.Log {
	return config.Log{Level: config.Value{Text: level}, Format: config.Value{Text: format}, File: config.Value{Text: file}}
}

// opened opens a log, and returns what it says of itself.
func opened(t *testing.T, c config.Log, err *bytes.Buffer) (l *Log, said *[]string) {
	t.Helper()
	said = &[]string{}
	p := Program{Name: "test", Say: func(err error) { *said = append(*said, err.Error()) }}
	if err != nil {
		p.Err = err
	}
	return Open(c, p), said
}

func TestLevels(t *testing.T) {
	for level, want := range map[string]string{"": "", "off": "", "error": "e", "warn": "we", "info": "iwe"} {
		var text bytes.Buffer
		l, said := opened(t, settings(level, "text", ""), &text)
		l.Info("i")
		l.Warn("w")
		l.Error("e")
		var got strings.Builder
		for line := range strings.Lines(text.String()) {
			_, rest, _ := strings.Cut(line, "msg=")
			got.WriteString(rest[:1])
		}
		if got.String() != want || len(*said) != 0 || l.On() != (want != "") {
			t.Errorf("at %q: %q, %q", level, text.String(), *said)
		}
	}
}

// TestJSON: a line is a JSON value, and cannot change a terminal.
func TestJSON(t *testing.T) {
	var text bytes.Buffer
	l, _ := opened(t, settings("info", "json", ""), &text)
	l.Info("m", "evil", "\x1b[2J\u009b2J\u202e\n")
	var line map[string]any
	if err := json.Unmarshal(text.Bytes(), &line); err != nil || line["evil"] != "\x1b[2J\u009b2J\u202e\n" || line["program"] != "test" {
		t.Errorf("%v %s", err, text.String())
	}
	if strings.ContainsAny(strings.TrimSuffix(text.String(), "\n"), "\x1b\u009b\u202e\n") {
		t.Errorf("%q", text.String())
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(trusted.Dir(t), "log")
	for range 2 { // the second appends
		l, said := opened(t, settings("info", "text", path), nil)
		l.Info("hello")
		if len(*said) > 0 {
			t.Fatal(*said)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "hello") != 2 {
		t.Errorf("%v %s", err, text)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode&0o137 != 0 {
		t.Errorf("mode %o", mode)
	}
}

// TestGroupDirectory: a group may write to the directory of the log, as in Ubuntu's /var/log.
func TestGroupDirectory(t *testing.T) {
	dir := filepath.Join(trusted.Dir(t), "d")
	if err := cmp.Or(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o775)); err != nil {
		t.Fatal(err)
	}
	l, said := opened(t, settings("info", "text", dir+"/log"), nil)
	l.Info("hello")
	if text, err := os.ReadFile(dir + "/log"); err != nil || !strings.Contains(string(text), "hello") || len(*said) > 0 {
		t.Errorf("%v %q, said %q", err, text, *said)
	}
}

// TestUnsafe: what is not a plain file of its own is said once, and nothing is written.
func TestUnsafe(t *testing.T) {
	for name, make := range map[string]func(dir, path string) error{
		"a link":            func(dir, path string) error { return os.Symlink(dir+"/victim", path) },
		"a link to nothing": func(dir, path string) error { return os.Symlink(dir+"/nothing", path) },
		"a second name":     func(dir, path string) error { return os.Link(dir+"/victim", path) },
		"a pipe":            func(_, path string) error { return syscall.Mkfifo(path, 0o600) },
		"another's": func(_, path string) error {
			return cmp.Or(os.WriteFile(path, nil, 0o600), os.Chown(path, nobody, nobody))
		},
		"a directory":         func(_, path string) error { return os.Mkdir(path, 0o700) },
		"others' directory":   func(dir, _ string) error { return os.Chmod(dir, 0o777) },
		"another's directory": func(dir, _ string) error { return os.Chown(dir, nobody, nobody) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(trusted.Dir(t), "d")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			testfile.Write(t, dir+"/victim", "mine", 0o600)
			path := dir + "/log"
			if err := make(dir, path); errors.Is(err, os.ErrPermission) {
				t.Skip("needs root, to give the file away")
			} else if err != nil {
				t.Fatal(err)
			}
			l, said := opened(t, settings("info", "text", path), nil)
			l.Info("hello")
			if l.On() || len(*said) != 1 || !strings.Contains((*said)[0], "no log is written: open log.file") {
				t.Errorf("said %q", *said)
			}
			if text, err := os.ReadFile(dir + "/victim"); err != nil || string(text) != "mine" {
				t.Errorf("%v %s", err, text)
			}
			if _, err := os.Lstat(dir + "/nothing"); err == nil {
				t.Error("a link was followed")
			}
		})
	}
}

const nobody = 65534

// TestForOthers: who may not write the log that the configuration of the host asks for is not
// told at every command, unless it was this user who asked.
func TestForOthers(t *testing.T) {
	needs.Root(t, "to be another user")
	path := filepath.Join(trusted.Dir(t), "log")
	testfile.Write(t, path, "", 0o640)
	for origin, want := range map[string]int{config.Path: 0, "--gpus-log-level": 1} {
		c := settings("info", "text", path)
		c.Level.Origin, c.File.Origin = origin, config.Path
		done := make(chan *[]string)
		go func() {
			runtime.LockOSThread() // never unlocked, so that the thread ends
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), nobody, ^uintptr(0)); errno != 0 {
				t.Error(errno)
			}
			_, said := opened(t, c, nil)
			done <- said
		}()
		if said := <-done; len(*said) != want {
			t.Errorf("from %s: said %q", origin, *said)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	for _, c := range []config.Log{settings("loud", "text", ""), settings("info+1", "text", ""), settings("debug", "text", ""), settings("info", "xml", ""), settings("info", "text", "relative")} {
		var text bytes.Buffer
		l, said := opened(t, c, &text)
		l.Info("hello")
		if l.On() || len(*said) != 1 || text.Len() > 0 {
			t.Errorf("%+v: said %q, wrote %q", c, *said, text.String())
		}
	}
	if l, said := opened(t, settings("info", "text", ""), nil); l.On() || len(*said) > 0 {
		t.Errorf("without a place: %q", *said)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestWriteFails: lines that are lost are said once.
func TestWriteFails(t *testing.T) {
	var said []string
	l := Open(settings("info", "text", ""), Program{Name: "test", Err: full{}, Say: func(err error) { said = append(said, err.Error()) }})
	l.Info("1")
	l.Info("2")
	if len(said) != 1 || said[0] != "the log is not complete: no space left" {
		t.Errorf("said %q", said)
	}
}
