// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The version and kind that the state file states.
const (
	APIVersion = "metax-ctk/v1"
	StateKind  = "Leases"
)

// Ticket is the place of a request that waits for GPUs.
type Ticket struct {
	// ID is the ID of the lease that the request will take.
	ID string `json:"id"`
	// Count is how many GPUs it waits for.
	Count int `json:"count"`
	// GPUs are the ones it waits for, empty for any.
	GPUs   []gpu.BDF    `json:"gpus,omitempty"`
	Client usage.Client `json:"client"`
	User   *usage.User  `json:"user,omitempty"`
	Since  time.Time    `json:"since"`
	// Until is the uptime at which the request has given up waiting, at most
	// Keeper.WaitMax from when it is read.
	Until time.Duration `json:"until"`
	// Marked is the uptime of the client's last sign of life.
	Marked time.Duration `json:"marked,omitempty"`
	// Ended is the user who ended the request by Keeper.Release; the client then leaves the
	// queue.
	Ended *usage.User `json:"ended,omitempty"`
}

// The signs of life of a request that waits. Others pass a request without a mark for
// markLasts; it keeps its place, as its client may only be stopped.
const (
	markEvery = time.Second
	markLasts = 5 * time.Second
)

// Waits reports whether the request shows signs of life at this uptime, so that others have to
// let it go first.
func (t Ticket) Waits(uptime time.Duration) bool {
	age := uptime - t.Marked
	return t.Ended == nil && age <= markLasts && age >= -markLasts // a mark of the future is forged
}

// Rebuilt is the second half of a message about a state that was lost, after State.Lost.
const Rebuilt = "the leases were rebuilt from running containers and clients and may be incomplete"

// State is what the state file holds.
type State struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Boot is the id of the boot that the rest is about.
	Boot   string        `json:"boot"`
	Leases []usage.Lease `json:"leases"`          // ascending by ID
	Queue  []Ticket      `json:"queue,omitempty"` // in the order of arrival
	// Seen are the containers that engines listed last, by Container.Key.
	Seen map[string]Known `json:"seen,omitempty"`
	// Processes are those that looks found with GPUs open, and that are not known to
	// have ended or to have closed them; ascending by PID.
	Processes []usage.Process `json:"processes,omitempty"`
	// Looked are the GPUs for which a complete look at all processes has been taken
	// since the host started; ascending.
	Looked []gpu.BDF `json:"looked,omitempty"`
	// LookedIn is the pid namespace from which those looks were taken.
	LookedIn uint64 `json:"lookedIn,omitempty"`
	// LookedAt is the uptime at which the last of them began, if there are Lists.
	LookedAt time.Duration `json:"lookedAt,omitempty"`
	// Lists are the kernel's lists that looks have confirmed, and Emptied those that looks have
	// seen empty; both ascending. ListsContradicted is true if a look contradicted one.
	Lists             []usage.OpenList `json:"lists,omitempty"`
	Emptied           []usage.OpenList `json:"emptied,omitempty"`
	ListsContradicted bool             `json:"listsContradicted,omitempty"`
	// Lost says why the state before was lost; empty for a state that was read, or for the
	// first after a boot.
	Lost string `json:"-"`
	// New is true for a state that was not read from a file.
	New bool `json:"-"`
}

// NewState returns a State without leases.
func NewState(boot string) State {
	return State{APIVersion: APIVersion, Kind: StateKind, Boot: boot, Leases: []usage.Lease{}, New: true}
}

// Lease returns the lease with the ID, nil if there is none.
func (s *State) Lease(id string) *usage.Lease {
	if i, ok := s.leaseIndex(id); ok {
		return &s.Leases[i]
	}
	return nil
}

// putLease adds a lease, or replaces the one with its ID.
func (s *State) putLease(l usage.Lease) {
	i, ok := s.leaseIndex(l.ID)
	if ok {
		l.Rev = s.Leases[i].Rev + 1
		s.Leases[i] = l
		return
	}
	l.Rev++
	s.Leases = slices.Insert(s.Leases, i, l)
}

func (s *State) dropLease(id string) {
	s.Leases = slices.DeleteFunc(s.Leases, func(l usage.Lease) bool { return l.ID == id })
}

func (s *State) leaseIndex(id string) (int, bool) {
	return slices.BinarySearchFunc(s.Leases, id, func(l usage.Lease, id string) int { return strings.Compare(l.ID, id) })
}

// ticketIndex returns the place of a ticket in the queue, -1 if there is none.
func (s *State) ticketIndex(id string) int {
	return slices.IndexFunc(s.Queue, func(t Ticket) bool { return t.ID == id })
}

// removeTicket takes a ticket out of the queue.
func (s *State) removeTicket(id string) {
	s.Queue = slices.DeleteFunc(s.Queue, func(t Ticket) bool { return t.ID == id })
}

// Known is what the state keeps of a container while its engine does not answer.
type Known struct {
	usage.Facts
	// Engine and Endpoint name the source that listed it.
	Engine   string `json:"engine,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Held is true if it used its GPUs when it was last seen.
	Held bool `json:"held,omitempty"`
}
