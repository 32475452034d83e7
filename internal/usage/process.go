package usage

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

// Client is the process as Life knows it.
func (p Process) Client() Client { return Client{p.PID, p.Start, p.PIDNamespace} }
