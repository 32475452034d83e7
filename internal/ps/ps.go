// SPDX-License-Identifier: Apache-2.0

// Package ps makes the documents that metax-ctk ps and metax-ctk lease list print: who
// uses which GPU, and the leases. metax-docker reads them.
package ps

import (
	"fmt"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The kinds of the documents of metax-ctk ps and metax-ctk lease list.
const (
	OccupancyKind = "Occupancy"
	LeasesKind    = "LeaseList"
)

// Occupancy is who uses which GPU, as metax-ctk ps prints it. Lists are never nil. All
// of them name GPUs of the node by index.
type Occupancy struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Summary    Summary `json:"summary"`
	GPUs       []GPU   `json:"gpus"` // by index
	// Containers are all containers with GPUs or with the label of a lease, also those
	// that use nothing now, by Key.
	Containers []Container `json:"containers"`
	Queue      []Waiting   `json:"queue"` // by arrival
	Sources    []Source    `json:"sources"`
	// Lost is why the leases had to be rebuilt; empty if they had not.
	Lost string `json:"lost,omitempty"`
}

// Summary counts the GPUs of the node: each is free, in use, at work for a user that is not
// known, or neither because it is unhealthy or divided into slices.
type Summary struct {
	GPUs  int `json:"gpus"`
	Free  int `json:"free"`
	InUse int `json:"inUse"`
	// UserUnknown counts the GPUs with GPU.UserUnknown.
	UserUnknown int `json:"userUnknown,omitempty"`
}

// GPU is a GPU of the node and its holders.
type GPU struct {
	Index   int      `json:"index"`
	UUID    gpu.UUID `json:"uuid,omitempty"`
	BDF     gpu.BDF  `json:"bdf,omitzero"`
	Healthy bool     `json:"healthy"`
	// Parts is how the GPU is divided, "sgpu: 2 slices"; nobody gets it as a whole.
	Parts   string   `json:"parts,omitempty"`
	Holders []Holder `json:"holders"`
	// UserUnknown is true for a GPU that would be free but for its load: no source reported a
	// user, and its reading is not that of an idle GPU.
	UserUnknown bool `json:"userUnknown,omitempty"`
}

// UserNotKnown is what people read of a GPU with UserUnknown.
const UserNotKnown = "user not known"

// Holder is one user of a GPU.
type Holder struct {
	State string `json:"state"` // usage.Holder.State
	// Sources are where this use of the GPU was seen: usage.FromLease and so on.
	Sources   []string   `json:"sources"`
	Lease     *Lease     `json:"lease,omitempty"`
	Container *Container `json:"container,omitempty"`
	Processes []Process  `json:"processes"` // those that have this GPU open, by PID
	// User is the user of the lease, or else of the processes: a name or a number.
	User string `json:"user,omitempty"`
	// Since is when the lease was taken, or else when the container was made.
	Since time.Time `json:"since,omitzero"`
}

// Lease is a lease.
type Lease struct {
	ID   string `json:"id"`
	GPUs []int  `json:"gpus"`
	// BDFs are the addresses of all its GPUs, also of those that the node no longer
	// has.
	BDFs []gpu.BDF `json:"bdfs"`
	// Slices are the slices of these GPUs that the lease is for; none if it is for
	// whole GPUs.
	Slices    []string `json:"slices,omitempty"`
	State     string   `json:"state"` // usage.Holder.State, or Over
	Shared    bool     `json:"shared"`
	Verb      string   `json:"verb"`
	Engine    string   `json:"engine,omitempty"`
	Endpoint  string   `json:"endpoint,omitempty"`
	Container string   `json:"container,omitempty"` // its ID
	Name      string   `json:"name,omitempty"`      // of the container, if it was seen
	// PID is the client's process.
	PID   int       `json:"pid,omitempty"`
	UID   *uint32   `json:"uid,omitempty"` // nil if not known
	User  string    `json:"user,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Why is what ended a lease that is Over.
	Why string `json:"why,omitempty"`
}

// Over is the state of a lease that has ended and is still in the state file.
const Over = "over"

// Container is a container of some engine.
type Container struct {
	Engine    string `json:"engine,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Image     string `json:"image,omitempty"`
	// Lease is the container's lease label, which nobody has verified.
	Lease      string   `json:"lease,omitempty"`
	GPUs       []int    `json:"gpus"`             // whose devices it was given
	Slices     []string `json:"slices,omitempty"` // by name, as far as it is known
	Privileged bool     `json:"privileged"`
	// Ignored is a request in its environment that gives no GPU.
	Ignored string               `json:"ignored,omitempty"`
	State   usage.ContainerState `json:"state,omitempty"`
	Created time.Time            `json:"created,omitzero"`
}

// Process is a process that has a GPU open.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
	User    string `json:"user"`
}

// Waiting is a request that waits for GPUs.
type Waiting struct {
	ID    string `json:"id"`    // of the lease to be
	Count int    `json:"count"` // how many GPUs it waits for
	GPUs  []int  `json:"gpus"`  // which, empty for any
	State string `json:"state"` // InLine, Silent or Ended
	// Position is its place among the requests that are waiting, from 1; 0 if it is not.
	Position int       `json:"position,omitempty"`
	PID      int       `json:"pid"`
	User     string    `json:"user,omitempty"`
	Since    time.Time `json:"since"`
	// WaitedSeconds is how long it has waited, by the time of day.
	WaitedSeconds int64 `json:"waitedSeconds"`
	// EndedBy is the user who ended it.
	EndedBy string `json:"endedBy,omitempty"`
}

// The states of a waiting request: it waits for earlier ones; its client shows no sign
// of life, so others pass it; somebody ended it, and its client has not noticed yet.
const (
	InLine = "waiting"
	Silent = "silent"
	Ended  = "ended"
)

// Status is the result of querying a source.
type Status string

// The statuses. A source that is Absent is not on this machine; one that is Partial
// answered only in part.
const (
	OK      Status = "ok"
	Absent  Status = "absent"
	Partial Status = "partial"
	Failed  Status = "failed"
)

// Source is an engine or another place that was queried for users of GPUs.
type Source struct {
	Engine   string `json:"engine"`
	Endpoint string `json:"endpoint,omitempty"`
	Status   Status `json:"status"`
	// Message is the error, in one line.
	Message string `json:"message,omitempty"`
}

// String names the source for a message.
func (s Source) String() string {
	if s.Endpoint != "" {
		return s.Engine + " at " + s.Endpoint
	}
	return s.Engine
}

// Leases are the leases in the state file, as metax-ctk lease list prints them.
type Leases struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Summary    Summary   `json:"summary"`
	Leases     []Lease   `json:"leases"` // by ID
	Queue      []Waiting `json:"queue"`
	Sources    []Source  `json:"sources"`
	Lost       string    `json:"lost,omitempty"`
}

// Facts describes the container with a key of usage.Container.Key. A container that is not in
// Containers has no GPUs.
func (o Occupancy) Facts(key string) usage.Facts {
	for _, c := range o.Containers {
		if usage.Key(c.Engine, c.Namespace, c.ID) != key {
			continue
		}
		f := usage.Facts{
			Name: c.Name, Image: c.Image, Lease: c.Lease, Slices: c.Slices, Privileged: c.Privileged,
			Created: c.Created,
		}
		for _, g := range o.GPUs {
			if slices.Contains(c.GPUs, g.Index) {
				f.GPUs = append(f.GPUs, g.BDF)
			}
		}
		return f
	}
	return usage.Facts{}
}

// Answered returns why the source of an engine at an endpoint is not among those that were
// seen completely; nil if it is. An absent one counts as unseen: its tasks may go on.
func (o Occupancy) Answered(engine, endpoint string) error {
	for _, s := range o.Sources {
		switch {
		case s.Engine != engine || s.Endpoint != endpoint: // another source
		case s.Status == OK:
			return nil
		default:
			return fmt.Errorf("%s at %s: %s: %s", engine, endpoint, s.Status, s.Message)
		}
	}
	return fmt.Errorf("metax-ctk knows no %s at %s", engine, endpoint)
}
