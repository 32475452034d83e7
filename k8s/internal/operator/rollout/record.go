// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Annotation is the name of the annotation with the Record.
const Annotation = protocol.UpgradeAnnotation

// State is how far a node is.
type State string

// The states, by the names of NVIDIA's operators.
const (
	Jobs       State = "wait-for-jobs"
	Deletion   State = "pod-deletion"
	Drain      State = "drain"
	Restart    State = "pod-restart"
	Validation State = "validation"
	Done       State = "done"
	Failed     State = "failed"
	// Released is a node that was put back into service before anything was done to it, and
	// that can be taken again.
	Released State = "released"
)

var states = []State{Jobs, Deletion, Drain, Restart, Validation, Done, Failed, Released}

// Record is what is remembered of a node, as an annotation of the Node. The zero value is
// nothing.
type Record struct {
	State State     `json:"state"`
	Since time.Time `json:"since"` // whole seconds
	// To is the revision of the driver's DaemonSet that the node is upgraded to.
	To string `json:"to"`
	// Turn is that of the Take which the record is about.
	Turn int `json:"turn,omitempty"`
	// Cordoned reports whether the upgrade cordoned the node, so that its end uncordons it.
	Cordoned bool `json:"cordoned,omitempty"`
	// Why is why it failed.
	Why string `json:"why,omitempty"`
}

// mostTurns bounds the turns, which others could write.
const mostTurns = 1 << 30

// ParseRecord reads the annotation. What is no record is the zero value.
func ParseRecord(text string) (r Record) {
	if json.Unmarshal([]byte(text), &r) != nil || !slices.Contains(states, r.State) || r.Turn < 0 || r.Turn > mostTurns ||
		len(r.To) > 63 {
		return Record{}
	}
	r.Why = wording.Short(terminal.Line(r.Why), mostWhy)
	return r
}

// String is the annotation, "" for nothing.
func (r Record) String() string {
	if r == (Record{}) {
		return ""
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // only of a time beyond the year 9999
	}
	return string(text)
}

// isUpgrading reports whether the node is being upgraded.
func (r Record) isUpgrading() bool {
	switch r.State {
	case Jobs, Deletion, Drain, Restart, Validation:
		return true
	default: // it has ended (Done, Failed, Released) or never began
		return false
	}
}

// Take is a node that is out of service for an upgrade, or soon, or was a moment ago.
type Take struct {
	Name string
	// Turn is how often the node was taken. A Record with a lower one is from before: the node
	// is not cordoned yet, as far as is known.
	Turn int
}
