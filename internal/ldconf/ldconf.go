// SPDX-License-Identifier: Apache-2.0

// Package ldconf reads the configuration of a dynamic linker, ld.so.conf, as ldconfig
// does, but with limits, so that a hostile configuration cannot block or exhaust the
// reader. The caller provides the files, a host's or a container's.
package ldconf

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"
)

// Limits for a configuration. A real one has some ten files and as many directories.
const (
	maxFile   = 64 << 10 // bytes
	maxFiles  = 512
	maxDirs   = 1024
	maxLines  = 4096
	maxNames  = 4096 // in a directory that a pattern goes through
	maxListed = 256  // directories that patterns go through
	maxPath   = 4096 // bytes
)

var (
	// ErrTooMuch reports a configuration that exceeds a limit.
	ErrTooMuch = errors.New("too much in ld.so.conf")
	// ErrMalformed reports a directory that ld.so.conf cannot name.
	ErrMalformed = errors.New("malformed folder")
)

// Files reads the files of a host or a container, by their paths there.
type Files interface {
	// ReadFile returns a regular file of at most limit bytes.
	ReadFile(name string, limit int64) ([]byte, error)
	// ReadDir returns at most limit names in a directory, sorted.
	ReadDir(name string, limit int) ([]string, error)
}

type reader struct {
	files       Files
	warn        func(string)
	seen        map[string]bool
	directories []string
	lines       int
	listed      int
}

// Directories returns the directories that a configuration names, in order. It ignores
// the file skip and included files that do not exist. It leaves out what it cannot
// read, with a warning. With ErrTooMuch it also returns the directories found before
// the limit.
func Directories(files Files, name, skip string, warn func(string)) ([]string, error) {
	r := reader{files: files, warn: warn, seen: map[string]bool{skip: true}}
	err := r.readFile(name)
	return r.directories, err
}

// Check fails with ErrMalformed for a directory that ld.so.conf cannot name.
func Check(dir string) error {
	odd := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '#' || r == '=' }
	if !path.IsAbs(dir) || path.Clean(dir) != dir || strings.ContainsFunc(dir, odd) || len(dir) >= maxPath {
		return fmt.Errorf(`%w %q: want an absolute, clean path without spaces, "#" and "="`, ErrMalformed, dir)
	}
	return nil
}

func (r *reader) readFile(name string) error {
	if r.seen[name] {
		return nil
	}
	r.seen[name] = true
	if len(r.seen) > maxFiles {
		return fmt.Errorf("%w: more than %d files", ErrTooMuch, maxFiles)
	}
	data, err := r.files.ReadFile(name, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		r.warn(err.Error())
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if err := r.readLine(name, line); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readLine(file, line string) error {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "hwcap" {
		return nil
	}
	if r.lines++; r.lines > maxLines {
		return fmt.Errorf("%w: more than %d lines", ErrTooMuch, maxLines)
	}
	if words[0] == "include" {
		for _, pattern := range words[1:] {
			if !path.IsAbs(pattern) {
				pattern = path.Join(path.Dir(file), pattern)
			}
			if err := r.include(pattern); err != nil {
				return err
			}
		}
		return nil
	}
	// "DIR=libc6" is an old syntax that names the kind of the libraries.
	directory, _, _ := strings.Cut(strings.TrimSpace(line), "=")
	directory = strings.TrimSpace(directory)
	if Check(path.Clean(directory)) != nil {
		r.warn(fmt.Sprintf("%s: %.80q is left out", file, directory))
		return nil
	}
	if len(r.directories) == maxDirs {
		return fmt.Errorf("%w: more than %d directories", ErrTooMuch, maxDirs)
	}
	r.directories = append(r.directories, path.Clean(directory))
	return nil
}

// include reads the files that a pattern matches, sorted by name.
func (r *reader) include(pattern string) error {
	matches := []string{"/"}
	for word := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range matches {
			if !strings.ContainsAny(word, `*?[\`) {
				next = append(next, path.Join(dir, word))
				continue
			}
			if r.listed++; r.listed > maxListed {
				return fmt.Errorf("%w: patterns in more than %d directories", ErrTooMuch, maxListed)
			}
			names, err := r.files.ReadDir(dir, maxNames)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) {
					r.warn(err.Error())
				}
				continue
			}
			for _, name := range names {
				hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(word, ".")
				if ok, err := path.Match(word, name); err == nil && ok && !hidden {
					next = append(next, path.Join(dir, name))
				}
			}
		}
		matches = next
	}
	for _, file := range matches {
		if err := r.readFile(file); err != nil {
			return err
		}
	}
	return nil
}
