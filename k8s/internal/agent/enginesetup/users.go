package enginesetup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// users is how many containers need our metax-runtime: their shim or monitor calls it again, to enter, stop and
// remove them.
func (e Engines) users() (int, error) {
	n := 0
	for _, containerd := range usage.Containerds {
		tasks := path.Join(containerd.State, "io.containerd.runtime.v2.task")
		namespaces, err := e.list(tasks)
		if err != nil {
			return 0, err
		}
		for _, namespace := range namespaces {
			ids, err := e.list(path.Join(tasks, namespace))
			if err != nil {
				return 0, err
			}
			for _, id := range ids {
				// The shim's note on which program it runs.
				text, err := e.Root.ReadFile(path.Join(tasks, namespace, id, "runtime"))
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return 0, fmt.Errorf("look at the task of container %s: %w", id, err)
				}
				if strings.TrimSpace(string(text)) == ours() {
					n++
				}
			}
		}
	}
	commands, err := e.commands()
	if err != nil {
		return 0, err
	}
	for _, words := range commands {
		if path.Base(words[0]) == "conmon" && slices.Contains(words, ours()) {
			n++
		}
	}
	return n, nil
}

// commands are the command lines of the processes of the host.
func (e Engines) commands() (all [][]string, err error) {
	pids, err := e.list("/proc")
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		if strings.Trim(pid, "0123456789") != "" {
			continue
		}
		line, err := e.Root.ReadFile(path.Join("/proc", pid, "cmdline"))
		if err != nil {
			continue // it has ended
		}
		all = append(all, strings.Split(string(line), "\x00"))
	}
	return all, nil
}

// list are the names in a directory, none if it does not exist.
func (e Engines) list(dir string) ([]string, error) {
	names, err := e.Root.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for containers of the runtime: %w", err)
	}
	return names, nil
}
