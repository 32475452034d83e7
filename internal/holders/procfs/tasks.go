// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Task is a container that has a task in containerd.
type Task struct {
	Address   string // containerd's socket
	Namespace string
	ID        string
}

// taskDirs are the directories below a containerd's state directory that have a bundle for
// each task, by namespace and ID.
var taskDirs = []string{"io.containerd.runtime.v2.task", "io.containerd.runtime.v1.linux"}

// Tasks lists the tasks of every containerd of this host, ascending. It asks no
// containerd, so that a caller asks only about new tasks. Beside an error, where a state
// directory may not be listed, it returns what it found.
func (p *Proc) Tasks() ([]Task, error) {
	host := filepath.Dir(p.dir)
	sockets := map[string]string{}
	for _, usual := range usage.Containerds {
		sockets[filepath.Join(host, usual.State)] = filepath.Join(host, usual.Socket)
	}
	failed := p.addShimSockets(sockets)
	var tasks []Task
	for _, state := range slices.Sorted(maps.Keys(sockets)) {
		own, err := listTasks(state, sockets[state])
		tasks = append(tasks, own...)
		if failed == nil {
			failed = err
		}
	}
	slices.SortFunc(tasks, func(a, b Task) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.ID, b.ID))
	})
	if failed != nil {
		failed = fmt.Errorf("look for containers of containerd: %w", failed)
	}
	return slices.Compact(tasks), failed
}

// TaskEnded reports whether the first process of a task is known to have ended: nerdctl keeps
// the task of a container that was stopped. Only the usual containerds are known to number
// processes as /proc does.
func (p *Proc) TaskEnded(t Task) bool {
	host := filepath.Dir(p.dir)
	for _, usual := range usage.Containerds {
		if t.Address != filepath.Join(host, usual.Socket) {
			continue
		}
		//nolint:gosec // G304: namespace and ID are names of directories, from listTasks
		text, err := os.ReadFile(filepath.Join(host, usual.State, taskDirs[0], t.Namespace, t.ID, "init.pid"))
		pid, notNumber := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || notNumber != nil || pid <= 0 {
			return false
		}
		_, err = os.Stat(filepath.Join(p.dir, strconv.Itoa(pid)))
		return errors.Is(err, fs.ErrNotExist)
	}
	return false
}

// listTasks returns the tasks below a state directory, none if it does not exist.
func listTasks(state, address string) ([]Task, error) {
	var tasks []Task
	for _, kind := range taskDirs {
		dir := filepath.Join(state, kind)
		namespaces, err := subdirs(dir)
		if err != nil {
			return tasks, err
		}
		for _, namespace := range namespaces {
			ids, err := subdirs(filepath.Join(dir, namespace))
			if err != nil {
				return tasks, err
			}
			for _, id := range ids {
				tasks = append(tasks, Task{address, namespace, id})
			}
		}
	}
	return tasks, nil
}

// subdirs returns the names of the directories in dir, none if it does not exist.
func subdirs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
