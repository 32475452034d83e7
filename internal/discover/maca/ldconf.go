package maca

import (
	"debug/elf"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// What a host's linker configuration may make us do.
const (
	maxConfFile    = 64 << 10 // bytes
	maxConfSteps   = 256      // files, and directories that patterns go through
	maxDirectories = 256
)

// multiarch are the names that Debian gives to the directories of a machine.
var multiarch = map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}

// linker follows the host's ld.so.conf.
type linker struct {
	host        *hostfs.Root
	steps       int
	directories []string
	notes
}

// system returns the directories in which the host's dynamic linker looks for
// libraries of a machine, in its order. What cannot be read is left out, with a
// note.
func system(host *hostfs.Root, machine elf.Machine) ([]string, *notes) {
	l := &linker{host: host}
	l.file("/etc/ld.so.conf")
	if triplet, ok := multiarch[machine]; ok {
		l.directories = append(l.directories, "/lib/"+triplet, "/usr/lib/"+triplet)
	}
	l.directories = append(l.directories, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
	return l.directories, &l.notes
}

// step tells whether one more may be read.
func (l *linker) step() bool {
	if l.steps == maxConfSteps {
		l.note("system", "the host's ld.so.conf includes more than %d files: the rest is left out", maxConfSteps)
	}
	l.steps++
	return l.steps <= maxConfSteps
}

func (l *linker) file(name string) {
	if !l.step() {
		return
	}
	data, err := head(l.host, name, maxConfFile)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.note("system", "%v", err)
		}
		return
	}
	for line := range strings.Lines(string(data)) {
		line, _, _ := strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "hwcap":
		case words[0] == "include":
			for _, pattern := range words[1:] {
				if !path.IsAbs(pattern) {
					pattern = path.Join(path.Dir(name), pattern)
				}
				l.include(pattern)
			}
		case path.IsAbs(words[0]) && len(l.directories) < maxDirectories:
			dir, _, _ := strings.Cut(words[0], "=") // an old way to name a kind
			l.directories = append(l.directories, path.Clean(dir))
		}
	}
}

// include reads the files that a pattern matches in one directory; nobody has
// patterns for directories.
func (l *linker) include(pattern string) {
	dir, last := path.Split(pattern)
	if !strings.ContainsAny(last, `*?[\`) {
		l.file(pattern)
		return
	}
	if !l.step() {
		return
	}
	names, err := l.host.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.note("system", "%v", err)
		}
		return
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		ok, err := path.Match(last, name)
		return err != nil || !ok || strings.HasPrefix(name, ".")
	})
	for _, name := range names {
		l.file(path.Join(dir, name))
	}
}
