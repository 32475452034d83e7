// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// RunBy returns the containers whose low-level runtime satisfies is, by its path, ascending,
// such as "container web (podman)". The runtime itself is gone after a start, but the engine
// calls it to stop the container. What this user may not see is left out.
func (p *Proc) RunBy(is func(runtime string) bool) []string {
	var found []string
	tasks, _ := p.Tasks()
	host := filepath.Dir(p.dir)
	for _, t := range tasks {
		for _, usual := range usage.Containerds {
			if t.Address != filepath.Join(host, usual.Socket) || p.TaskEnded(t) {
				continue
			}
			// containerd's shim keeps the program there that its options name.
			//nolint:gosec // G304: namespace and ID are names of directories that containerd's user made
			text, err := os.ReadFile(filepath.Join(host, usual.State, taskDirs[0], t.Namespace, t.ID, "runtime"))
			if err == nil && is(strings.TrimSpace(string(text))) {
				found = append(found, fmt.Sprintf("container %s (%s)", usage.ShortID(t.ID), namespaceName(t.Namespace)))
			}
		}
	}
	dir, err := p.openProc()
	if err != nil {
		return found
	}
	defer closeFD(dir)
	pids, _ := processNames(dir)
	for _, pid := range pids {
		//nolint:gosec // G304: pid is a name in /proc, a number
		name, err := os.ReadFile(filepath.Join(p.dir, pid, "comm"))
		if err != nil || strings.TrimSpace(string(name)) != monitorName {
			continue
		}
		//nolint:gosec // G304: pid is a name in /proc, a number
		words, err := os.ReadFile(filepath.Join(p.dir, pid, "cmdline"))
		if m, ok := parseConmon(words); err == nil && ok && is(m.runtime) {
			found = append(found, fmt.Sprintf("container %s (%s)", m.name, m.engine))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// namespaceName is the engine that a namespace of containerd is for.
func namespaceName(namespace string) string {
	if namespace == "moby" {
		return "docker"
	}
	return "containerd, namespace " + namespace
}
