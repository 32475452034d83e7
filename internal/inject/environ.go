// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// defaultPath is the PATH that engines give a container whose image has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is the environment that a container gets without us.
type environ struct {
	values map[string]string
	given  map[string]bool // names that the line or its files set
}

// newEnviron reads the variables as docker does: those of --env-file replace the image's,
// and those of --env replace both. A name alone stands for the caller's variable; if the
// caller has no such variable, --env removes the image's, and a file changes nothing.
func newEnviron(image []string, flags dockerargs.Flags, read func(path string) (string, error),
	getenv func(string) (string, bool),
) (environ, error) {
	env := environ{values: map[string]string{}, given: map[string]bool{}}
	for _, line := range image {
		if name, value, ok := strings.Cut(line, "="); ok {
			env.values[name] = value
		}
	}
	for _, f := range flags {
		if f.Name != "env-file" {
			continue
		}
		text, err := read(f.Value)
		if err != nil {
			return environ{}, fmt.Errorf("read --env-file %s: %w", f.Value, err)
		}
		for _, line := range fileLines(text) {
			env.set(line, false, getenv)
		}
	}
	for _, f := range flags {
		if f.Name == "env" {
			env.set(f.Value, true, getenv)
		}
	}
	return env, nil
}

// fileLines returns the lines that count of a file of variables or labels, "NAME=value" or a
// name alone, as docker reads it.
func fileLines(text string) (lines []string) {
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimLeftFunc(strings.TrimRight(line, "\r\n"), unicode.IsSpace)
		if line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

func (e environ) set(text string, clears bool, getenv func(string) (string, bool)) {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		if value, ok = getenv(name); !ok && !clears {
			return
		}
	}
	e.given[name] = true
	if delete(e.values, name); ok {
		e.values[name] = value
	}
}

// withDirs returns a variable, "NAME=value", with directories beside those that it has:
// before them, or behind. Of a PATH that is not set, the default is kept.
func (e environ) withDirs(name string, dirs []string, before bool) string {
	have := e.values[name]
	if have == "" && name == "PATH" {
		have = defaultPath
	}
	list := dirs
	switch {
	case have == "": // only ours
	case before:
		list = slices.Concat(dirs, []string{have})
	default:
		list = append([]string{have}, dirs...)
	}
	return name + "=" + strings.Join(list, ":")
}

// Path returns the variable PATH of a container with directories of programs behind those
// that it has; empty if it has them all. The image's variables are those of the image of the
// command; readFile and getenv are as for MACA.
func Path(image []string, flags dockerargs.Flags, dirs []string, readFile func(string) (string, error),
	getenv func(string) (string, bool),
) (string, error) {
	env, err := newEnviron(image, flags, readFile, getenv)
	if err != nil {
		return "", err
	}
	have := strings.Split(env.values["PATH"], ":")
	dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return slices.Contains(have, dir) })
	if len(dirs) == 0 {
		return "", nil
	}
	return env.withDirs("PATH", dirs, false), nil
}

// Unset returns those of the variables, "NAME=value", that neither the line nor its files
// set. A file that cannot be read twice counts as one that sets none of them.
func Unset(variables []string, flags dockerargs.Flags, readFile func(string) (string, error),
	getenv func(string) (string, bool),
) []string {
	env, err := newEnviron(nil, flags, readFile, getenv)
	if err != nil {
		env, _ = newEnviron(nil, flags, func(string) (string, error) { return "", nil }, getenv)
	}
	return slices.DeleteFunc(slices.Clone(variables), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return env.given[name]
	})
}

// OwnLabels fails for a line, or a file of labels that it names, with one of the labels that
// only this toolkit may give.
func OwnLabels(flags dockerargs.Flags, own []string, readFile func(string) (string, error)) error {
	for _, f := range flags {
		var given []string
		switch f.Name {
		case "label", "annotation":
			given = []string{f.Value}
		case "label-file":
			text, err := readFile(f.Value)
			if err != nil {
				return fmt.Errorf("read --label-file %s: %w", f.Value, err)
			}
			given = fileLines(text)
		}
		for _, label := range given {
			if name, _, _ := strings.Cut(label, "="); slices.Contains(own, name) {
				return fmt.Errorf("--%s %q: metax-docker sets this label itself", f.Name, label)
			}
		}
	}
	return nil
}
