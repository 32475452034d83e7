package occupancy

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// Process is a process that holds device files of GPUs open.
type Process struct {
	PID int `json:"pid"`
	// Start and PIDNamespace are those of Client; 0 where they are not known.
	Start        uint64 `json:"start"`
	PIDNamespace uint64 `json:"pidNamespace"`
	UID          uint32 `json:"uid"`
	Command      string `json:"command"` // the kernel's short name for it
	// Container is the ID that the process's cgroup names, empty outside of
	// containers.
	Container string    `json:"container,omitempty"`
	GPUs      []gpu.BDF `json:"gpus"` // ascending
}

// client is the process as Life knows it.
func (p Process) client() Client { return Client{p.PID, p.Start, p.PIDNamespace} }

// Client is the process that asked for GPUs: metax-docker, and then the docker
// client that it became. Pid and start time together are used only once while a
// host is up.
type Client struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot, field 22 of
	// /proc/PID/stat; it survives exec.
	Start uint64 `json:"start"`
	// PIDNamespace is the inode of the namespace that PID counts in.
	PIDNamespace uint64 `json:"pidNamespace"`
}

// Life is what can be said of a Client.
type Life int

// The zero value is the careful one: GPUs of a client that nobody can see stay
// with it.
const (
	Unseen Life = iota // it counts in another pid namespace
	Alive
	Ended
)

// Claimant is a live client whose command line names a lease: what remains of a
// lease that has no container yet when the state file is lost.
type Claimant struct {
	Client
	UID   uint32
	Lease string
	GPUs  []gpu.BDF
}
