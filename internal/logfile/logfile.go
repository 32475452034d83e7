// SPDX-License-Identifier: Apache-2.0

// Package logfile writes the log of a program: what was requested, what was decided and why,
// for people who support a host. It is off by default; then nothing is opened and no logger is
// made. If the log cannot be written, the program says so once and goes on.
//
// The programs decide what they log: never the value of an environment variable, and each
// error once.
package logfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Log is the log of one program. A nil Log writes nothing.
type Log struct{ to *slog.Logger }

// Program is the program that logs.
type Program struct {
	Name string
	// Err is standard error, for a log without a file; nil if the log may not go there.
	Err io.Writer
	// Say is called at most once, with the reason why the log is not complete.
	Say func(error)
}

// errUnsafe reports a log file that is not a regular file, or has a second name (a hard link).
var errUnsafe = errors.New("it is not a regular file, or it has a second name (a hard link)")

// Open returns the log that the settings request; nil if logging is off.
func Open(c config.Log, p Program) *Log {
	if c.Level.Text == "" || c.Level.Text == config.LogOff || (c.File.Text == "" && p.Err == nil) {
		return nil
	}
	l, err := open(c, p)
	if err != nil && !isForOthers(c, err) {
		p.Say(fmt.Errorf("no log is written: %w", err))
	}
	return l
}

// isForOthers reports whether opening failed because this user may not write the log, and the
// user did not request it: the host's configuration did, for users who may write there.
func isForOthers(c config.Log, err error) bool {
	return os.Geteuid() != 0 && errors.Is(err, fs.ErrPermission) && c.Level.Origin == config.Path &&
		c.File.Origin == config.Path
}

func open(c config.Log, p Program) (*Log, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level.Text)); err != nil || !slices.Contains(config.LogLevels, c.Level.Text) {
		return nil, fmt.Errorf("log.level %q (from %s): want off, error, warn or info", c.Level.Text, c.Level.Origin)
	}
	if !slices.Contains(config.LogFormats, c.Format.Text) {
		return nil, fmt.Errorf("log.format %q (from %s): want text or json", c.Format.Text, c.Format.Origin)
	}
	to := &writer{to: p.Err, say: p.Say}
	if c.File.Text != "" {
		file, err := OpenFile(c.File.Text)
		if err != nil {
			return nil, fmt.Errorf("open log.file (from %s): %w", c.File.Origin, err)
		}
		to.to = file
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(to, options)
	if c.Format.Text == "json" {
		handler = slog.NewJSONHandler(to, options)
	}
	return &Log{slog.New(handler).With("program", p.Name, "pid", os.Getpid())}, nil
}

// OpenFile opens a log to append to it. It refuses a path if users other than root and the
// caller could decide where its directory is, a directory that everybody may write to (unless
// it is sticky, such as /tmp), and a file that is a link or a pipe, that belongs to another
// user, or that has a second name: the log must not end up in another file. A group may write
// to the directory, as syslog may to Ubuntu's /var/log. If root makes the file, its group may
// read it.
func OpenFile(path string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%q is not an absolute path", path)
	}
	if err := checkDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	perm := os.FileMode(0o600)
	if os.Geteuid() == 0 {
		perm = 0o640
	}
	flags := os.O_WRONLY | os.O_APPEND | os.O_CREATE | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	//nolint:gosec // G304: the configuration names the log; no link, in a directory that checkDir accepts
	f, err := os.OpenFile(path, flags, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || !ok || st.Nlink != 1 {
			err = fmt.Errorf("%s: %w", path, errUnsafe)
		} else {
			err = hostfs.CheckOwner(path, info)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkDir fails if a file in the directory could not be told from another user's.
func checkDir(dir string) error {
	if err := hostfs.Reach(dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return &hostfs.UntrustedError{Path: dir, Mode: uint32(info.Mode().Perm())}
	}
	return hostfs.CheckOwner(dir, info)
}

// writer writes lines that are safe to print, and reports the first failure.
type writer struct {
	to   io.Writer
	say  func(error)
	said bool
}

func (w *writer) Write(line []byte) (int, error) {
	_, err := w.to.Write(terminal.JSON(line))
	if err != nil && !w.said {
		w.said = true
		w.say(fmt.Errorf("the log is not complete: %w", err))
	}
	return len(line), nil
}

// On reports whether anything is logged: if not, a caller need not collect it.
func (l *Log) On() bool { return l != nil }

// Info writes a decision; pairs are keys and values, as for slog.
func (l *Log) Info(message string, pairs ...any) {
	if l != nil {
		l.to.Info(message, pairs...)
	}
}

// Warn writes a warning that the program has printed.
func (l *Log) Warn(message string, pairs ...any) {
	if l != nil {
		l.to.Warn(message, pairs...)
	}
}

// Error writes the error with which the program ends.
func (l *Log) Error(message string, pairs ...any) {
	if l != nil {
		l.to.Error(message, pairs...)
	}
}
