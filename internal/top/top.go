// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Kind is that of the document.
const Kind = "Top"

// Top is what is known of the GPUs at work at one time, as metax-ctk top prints it.
type Top struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Node       string `json:"node,omitempty"` // its name
	// Summary is nil, and so are the Holders of each GPU, if it is not known who uses GPUs.
	Summary  *ps.Summary  `json:"summary,omitempty"`
	Readings Source       `json:"readings"`
	Users    Source       `json:"users"`
	GPUs     []GPU        `json:"gpus"` // by index
	Queue    []ps.Waiting `json:"queue"`
}

// Source says how old values are, and why newer ones are missing.
type Source struct {
	// Name is "libmxsml", "mx-smi" or "simulation" for readings; empty if there are no values.
	Name string `json:"name,omitempty"`
	// AgeSeconds is the age of the values; nil if there are none.
	AgeSeconds *int `json:"ageSeconds,omitempty"`
	// Message is why the last attempt failed, in one line; empty if it did not.
	Message string `json:"message,omitempty"`
	// Stale is true for values that are older than three intervals.
	Stale bool `json:"stale,omitempty"`
}

// GPU is a GPU, what it measured and who uses it.
type GPU struct {
	ps.GPU
	Model   string       `json:"model,omitempty"`
	Reading *gpu.Reading `json:"reading,omitempty"` // nil if it reported nothing
}

// State is what was seen last.
type State struct {
	Node gpu.Node
	// Interval is the time between two looks.
	Interval time.Duration
	// IsOut tells by index which GPUs are not shown; nil for none.
	IsOut func(index int) bool

	report      lease.Report
	readings    []gpu.Reading
	users, read attempt
}

// attempt is when values last came, and why none came since.
type attempt struct {
	name string
	at   time.Time // zero if none ever came
	err  error
}

// WithReadings returns the state after an attempt to read the GPUs, which ended now. After
// a failure the last readings stay.
func (s State) WithReadings(readings []gpu.Reading, source string, err error, now time.Time) State {
	s.read.err = err
	if err == nil {
		s.readings, s.read.name, s.read.at = readings, source, now
	}
	return s
}

// WithUsers returns the state after an attempt to find out who uses the GPUs.
func (s State) WithUsers(report lease.Report, err error, now time.Time) State {
	s.users.err = err
	if err == nil {
		s.report, s.users.at = report, now
	}
	return s
}

// Complete reports whether each of the two attempts has ended once.
func (s State) Complete() bool {
	return (s.read.err != nil || !s.read.at.IsZero()) && (s.users.err != nil || !s.users.at.IsZero())
}

// Top returns the document of the state at a time.
func (s State) Top(now time.Time) Top {
	told := ps.Describe(s.Node, s.report, s.readings)
	t := Top{
		APIVersion: lease.APIVersion, Kind: Kind, Node: terminal.Line(s.Node.Name), Summary: &told.Summary,
		Readings: s.read.source(now, s.Interval), Users: s.users.source(now, s.Interval), GPUs: make([]GPU, len(told.GPUs)),
		Queue: told.Queue,
	}
	unknown := s.users.at.IsZero()
	if unknown {
		t.Summary = nil
	}
	if t.Users.Message == "" {
		t.Users.Message = incomplete(told.Sources)
	}
	for i, g := range told.GPUs {
		t.GPUs[i] = GPU{GPU: g, Model: s.Node.GPUs[i].Model}
		if unknown {
			t.GPUs[i].Holders, t.GPUs[i].UserUnknown = nil, false
		}
		for _, r := range s.readings {
			if r.BDF == g.BDF {
				t.GPUs[i].Reading = &r
			}
		}
	}
	if s.IsOut != nil {
		t.GPUs = slices.DeleteFunc(t.GPUs, func(g GPU) bool { return s.IsOut(g.Index) })
	}
	return t
}

// incomplete says which sources may hide users of GPUs; empty if none does.
func incomplete(sources []ps.Source) string {
	var all []string
	for _, s := range sources {
		if s.Status == ps.Failed || s.Status == ps.Partial {
			all = append(all, fmt.Sprintf("%s: %s", s, s.Message))
		}
	}
	return terminal.Line(strings.Join(all, "; "))
}

func (a attempt) source(now time.Time, interval time.Duration) Source {
	s := Source{Name: a.name}
	if a.err != nil {
		s.Message = terminal.Message(a.err.Error())
	}
	if !a.at.IsZero() {
		age := max(now.Sub(a.at), 0)
		seconds := int(age / time.Second)
		s.AgeSeconds, s.Stale = &seconds, age > 3*max(interval, time.Second)
	}
	return s
}
