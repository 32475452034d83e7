// SPDX-License-Identifier: Apache-2.0

package usage

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// Process is a process that has device files of GPUs open.
type Process struct {
	PID int `json:"pid"`
	// Start and PIDNamespace are as in Client; 0 if they are not known.
	Start        uint64 `json:"start"`
	PIDNamespace uint64 `json:"pidNamespace"`
	UID          uint32 `json:"uid"`
	Command      string `json:"command"` // the kernel's short name for it
	// Container is the ID that the process's cgroup names, empty outside of
	// containers.
	Container string    `json:"container,omitempty"`
	GPUs      []gpu.BDF `json:"gpus"` // ascending
}

// Client returns the process as a client.
func (p Process) Client() Client { return Client{p.PID, p.Start, p.PIDNamespace} }

// Client is the process that requested GPUs: metax-docker, and then the docker client that
// it became. Pid and start time together are unique while the host is up.
type Client struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot, field 22 of /proc/PID/stat; it
	// survives exec.
	Start uint64 `json:"start"`
	// PIDNamespace is the inode of the namespace that PID counts in.
	PIDNamespace uint64 `json:"pidNamespace"`
}

// Liveness is whether a client is alive.
type Liveness int

// The zero value is the safe one: a client that cannot be seen keeps its GPUs.
const (
	Unseen Liveness = iota // it is in another pid namespace
	Alive
	Ended
)

// Claimant is a live client whose command line names a lease. Where the state file is
// lost, nothing else is left of a lease that has no container yet.
type Claimant struct {
	Client
	UID   uint32
	Lease string
	GPUs  []gpu.BDF
}

// Monitors returns the names of the vendor's programs that open GPUs only to look at them.
func Monitors() []string { return []string{"mx-smi", "mx-exporter"} }
