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
	"strings"
)

// Task is a container that lives in containerd.
type Task struct {
	Address   string // containerd's socket
	Namespace string
	ID        string
}

// The directories of a containerd's state that have a bundle for each task, below
// them by namespace and ID.
func taskDirs() []string {
	return []string{"io.containerd.runtime.v2.task", "io.containerd.runtime.v1.linux"}
}

// states are the state directories of the containerds that are known by place,
// with their sockets.
func states() map[string]string {
	return map[string]string{
		"/run/containerd":                          "/run/containerd/containerd.sock",
		"/run/k3s/containerd":                      "/run/k3s/containerd/containerd.sock",
		"/run/docker/containerd/daemon":            "/run/docker/containerd/containerd.sock",
		"/var/snap/microk8s/common/run/containerd": "/var/snap/microk8s/common/run/containerd.sock",
	}
}

// Tasks lists the containers that live in any containerd of this host, ascending
// and without asking one, so that only news need be asked for. It fails beside
// what it found where a state directory may not be listed.
func (p *Proc) Tasks() ([]Task, error) {
	host := filepath.Dir(p.dir)
	sockets := map[string]string{}
	for state, socket := range states() {
		sockets[filepath.Join(host, state)] = filepath.Join(host, socket)
	}
	failed := p.shims(sockets)
	var tasks []Task
	for _, state := range slices.Sorted(maps.Keys(sockets)) {
		own, err := list(state, sockets[state])
		tasks = append(tasks, own...)
		if failed == nil {
			failed = err
		}
	}
	slices.SortFunc(tasks, func(a, b Task) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.ID, b.ID))
	})
	if failed != nil {
		failed = fmt.Errorf("look for containers of containerd: %w", failed)
	}
	return slices.Compact(tasks), failed
}

// list returns the tasks below a state directory, none where there is no such
// directory.
func list(state, address string) ([]Task, error) {
	var tasks []Task
	for _, kind := range taskDirs() {
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

// subdirs are the names of the directories in dir, none where there is no dir.
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
