// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/engine/containerd"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
)

// DockerSocket is where docker listens unless told otherwise.
const DockerSocket = "/var/run/docker.sock"

// dockerSockets are those of the daemon in use, of docker's own, and of the leases.
func dockerSockets(engine, endpoint string, s lease.State) []string {
	all := []string{Resolve(DockerSocket)}
	if engine == "docker" {
		all = append(all, endpoint)
	}
	for _, l := range s.Leases {
		if l.Engine == "docker" && l.Endpoint != "" {
			all = append(all, l.Endpoint)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Containerd is the socket of the containerd that nerdctl and ctr talk to: the one that their
// option names, or else CONTAINERD_ADDRESS, or the usual one.
func Containerd(option string, getenv func(string) string) string {
	return Resolve(strings.TrimPrefix(cmp.Or(option, getenv("CONTAINERD_ADDRESS"), containerd.Socket), "unix://"))
}

// ContainerdAddresses are the containerds that run tasks, that leases name, and the
// others, ascending, each by its one name.
func ContainerdAddresses(s lease.State, tasks []procfs.Task, others ...string) []string {
	for _, t := range tasks {
		others = append(others, t.Address)
	}
	for _, l := range s.Leases {
		if l.Engine == "containerd" && l.Endpoint != "" {
			others = append(others, l.Endpoint)
		}
	}
	slices.Sort(others)
	others = slices.Compact(others) // hundreds of tasks have one
	for i, address := range others {
		others[i] = Resolve(address)
	}
	slices.Sort(others)
	return slices.Compact(others)
}

// Resolve is the one name of a socket that may have several.
func Resolve(socket string) string {
	if real, err := filepath.EvalSymlinks(socket); err == nil {
		return real
	}
	// The daemon is down; its directory may still be a link.
	if dir, err := filepath.EvalSymlinks(filepath.Dir(socket)); err == nil {
		return filepath.Join(dir, filepath.Base(socket))
	}
	return socket
}
