package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
)

// defaultPath is the PATH that engines give a container whose image has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ is the environment that a container gets without us.
type environ map[string]string

// newEnviron reads it as docker does: over the image's variables come those of
// --env-file, over them those of --env. A name alone is the caller's variable, or
// takes the image's away.
func newEnviron(image []string, flags dockerargs.Flags, getenv func(string) (string, bool)) (environ, error) {
	env := environ{}
	for _, line := range image {
		if name, value, ok := strings.Cut(line, "="); ok {
			env[name] = value
		}
	}
	set := func(text string) {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			value, ok = getenv(name)
		}
		if delete(env, name); ok {
			env[name] = value
		}
	}
	for _, f := range flags {
		if f.Name != "env-file" {
			continue
		}
		text, err := os.ReadFile(f.Value)
		if err != nil {
			return nil, fmt.Errorf("read --env-file: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")
			if line != "" && line[0] != '#' {
				set(line)
			}
		}
	}
	for _, f := range flags {
		if f.Name == "env" {
			set(f.Value)
		}
	}
	return env, nil
}

// with is the flag that gives a variable the directories besides those that it
// has: before them, or behind. Of a PATH that is not set, the default is kept.
func (e environ) with(name string, dirs []string, before bool) string {
	have := e[name]
	if have == "" && name == "PATH" {
		have = defaultPath
	}
	list := dirs
	switch {
	case have == "":
	case before:
		list = append(dirs[:len(dirs):len(dirs)], have)
	default:
		list = append([]string{have}, dirs...)
	}
	return "--env=" + name + "=" + strings.Join(list, ":")
}
