package ldcache

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// What an image's configuration may make us do. A real one has some ten files
// and as many directories.
const (
	maxConfFile  = 64 << 10 // bytes
	maxConfFiles = 512
	maxConfDirs  = 1024
	maxConfLines = 4096
	maxNames     = 4096 // in a directory that a pattern goes through
	maxListed    = 256  // directories that patterns go through
)

// ErrTooMuch reports a configuration beyond all measure.
var ErrTooMuch = errors.New("too much in the container's ld.so.conf")

// reader follows a container's ld.so.conf as ldconfig does, but waits for
// nothing and ends in any case.
type reader struct {
	root        *inroot.Root
	warn        func(string)
	seen        map[string]bool
	directories []string
	lines       int
	listed      int
}

// configured returns the directories that the container's own ld.so.conf names,
// in order; it stands in the directory etc. What it includes that is not there
// counts for nothing; what cannot be read is left out with a warning.
func configured(root *inroot.Root, etc string, warn func(string)) ([]string, error) {
	r := reader{root: root, warn: warn, seen: map[string]bool{path.Join(etc, confDir, confName): true}}
	if err := r.file(path.Join(etc, "ld.so.conf")); err != nil {
		return nil, err
	}
	return r.directories, nil
}

func (r *reader) file(name string) error {
	if r.seen[name] {
		return nil
	}
	r.seen[name] = true
	if len(r.seen) > maxConfFiles {
		return fmt.Errorf("%w: more than %d files", ErrTooMuch, maxConfFiles)
	}
	data, err := r.root.ReadFile(name, maxConfFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		r.warn(err.Error())
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if err := r.line(name, line); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) line(file, line string) error {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "hwcap" {
		return nil
	}
	if r.lines++; r.lines > maxConfLines {
		return fmt.Errorf("%w: more than %d lines", ErrTooMuch, maxConfLines)
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
	// "DIR=libc6" is an old way of naming a library's kind.
	directory, _, _ := strings.Cut(strings.TrimSpace(line), "=")
	directory = strings.TrimSpace(directory)
	if checkFolder(path.Clean(directory)) != nil || !path.IsAbs(directory) {
		r.warn(fmt.Sprintf("%s: %.80q is left out", file, directory))
		return nil
	}
	if len(r.directories) == maxConfDirs {
		return fmt.Errorf("%w: more than %d directories", ErrTooMuch, maxConfDirs)
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
			names, err := r.root.ReadDir(dir, maxNames)
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
		if err := r.file(file); err != nil {
			return err
		}
	}
	return nil
}
