// SPDX-License-Identifier: Apache-2.0

package usage

import "errors"

// ErrAbsent reports a source that this machine does not have, such as an engine that is not
// installed.
var ErrAbsent = errors.New("not on this machine")

// ErrUnfinished reports a look that took too long: it may have missed something.
var ErrUnfinished = errors.New("not every process could be inspected in time")

// Processes is the name of the source for device files that processes have open.
const Processes = "processes"

// Question is what a source is asked.
type Question struct {
	// Seen are known facts by Container.Key, which a source need not find out again.
	Seen map[string]Facts
	// Ended are leases whose client has ended and which have no known container.
	Ended []Lease
	// Recorded are processes that had GPUs open; see Sight.Read.
	Recorded []Client
	// Lists may be read instead of the files of processes, if they are those of all GPUs.
	Lists []OpenList
	// Lost is true where there is no state file: the question is for Claimants alone.
	Lost bool
}

// Sight is what a source saw.
type Sight struct {
	// Containers are all of the engine's, also those without GPUs, so that their facts can be
	// kept; those need no State.
	Containers []Container
	Processes  []Process
	// Read are those of Question.Recorded all of whose files were read.
	Read      []Client
	Claimants []Claimant
	// PIDNamespace is the one in which processes were looked at, 0 if it is not known.
	PIDNamespace uint64
	Lists        OpenLists
	// Over are the IDs of leases of Question.Ended whose container existed and was
	// destroyed, as the engine knows.
	Over []string
	// Users are those of Podman whose containers are in Containers also if they do not run.
	Users []uint32
	// Partial is true where the source may have missed something.
	Partial bool
}
