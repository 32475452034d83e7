// SPDX-License-Identifier: Apache-2.0

package enginesetup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// countRuntimeUsers is how many containers need our metax-runtime: their shim or monitor calls
// it again, to enter, stop and remove them.
func (e Engines) countRuntimeUsers() (int, error) {
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
				if strings.TrimSpace(string(text)) == runtimePath() {
					n++
				}
			}
		}
	}
	commands, err := e.processCommands()
	if err != nil {
		return 0, err
	}
	for pid, words := range commands {
		if slices.Contains(words, runtimePath()) && e.isMonitor(pid) {
			n++
		}
	}
	return n, nil
}

// isMonitor reports whether a process is a conmon of the host, by the rule of package procfs:
// a process chooses its own name and command line, so what counts is its owner, its mount
// namespace and the program that it runs.
func (e Engines) isMonitor(pid string) bool {
	var owners [2]uint32
	var mounts [2]string
	for i, pid := range []string{"1", pid} {
		dir := e.Root.Join(path.Join("/proc", pid))
		info, err := os.Lstat(dir)
		if err != nil {
			return false
		}
		owners[i] = info.Sys().(*syscall.Stat_t).Uid
		if mounts[i], err = os.Readlink(path.Join(dir, "ns/mnt")); err != nil {
			return false
		}
	}
	program, err := os.Readlink(e.Root.Join(path.Join("/proc", pid, "exe")))
	return err == nil && owners[0] == owners[1] && mounts[0] == mounts[1] &&
		path.Base(strings.TrimSuffix(program, " (deleted)")) == "conmon"
}

// processCommands are the command lines of the processes of the host, by their IDs.
func (e Engines) processCommands() (map[string][]string, error) {
	pids, err := e.list("/proc")
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, pid := range pids {
		if strings.Trim(pid, "0123456789") != "" {
			continue
		}
		line, err := e.Root.ReadFile(path.Join("/proc", pid, "cmdline"))
		if err != nil {
			continue // it has ended
		}
		all[pid] = strings.Split(string(line), "\x00")
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
