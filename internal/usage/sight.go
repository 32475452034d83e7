package usage

import "errors"

// ErrAbsent reports a source that this machine does not have, such as an engine
// that is not installed.
var ErrAbsent = errors.New("not on this machine")

// ErrUnfinished reports a look that took too long: what it does not show may still
// be there.
var ErrUnfinished = errors.New("not every process could be inspected in time")

// Processes is the name of the source for device files that processes hold open.
const Processes = "processes"

// Question is what a source is asked.
type Question struct {
	// Seen are facts already known; a source need not find them out again.
	Seen map[string]Facts
	// Ended are leases whose client is gone and of which no container is known.
	Ended []Lease
	// Recorded are processes that had GPUs open; the source of processes says which
	// of them it has read.
	Recorded []Client
	// Lost asks for Claimants and for nothing else: there is no state file.
	Lost bool
}

// Sight is what a source saw.
type Sight struct {
	// Containers are all of the engine's, with GPUs or without, so that facts can
	// be kept; those without GPUs need no state.
	Containers []Container
	Processes  []Process
	// Read are those of Question.Recorded all of whose files were read.
	Read      []Client
	Claimants []Claimant
	// PIDNamespace is the one in which processes were looked at, 0 if it is not known.
	PIDNamespace uint64
	// Over are the IDs of leases of Question.Ended whose container the engine
	// knows to have been there and to be gone.
	Over []string
	// Partial is true where the source may have missed something, so that what it
	// does not show may still be there.
	Partial bool
}
