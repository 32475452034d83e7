// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// The states of a GPU.
const (
	Healthy   = "healthy"
	Unhealthy = "unhealthy"
	// Unknown is the state of a GPU of which too many looks in a row could say nothing. It is
	// not to be given, like an unhealthy one.
	Unknown = "unknown"
)

// Rules are how many looks it takes to change a state.
type Rules struct {
	Bad    int // looks in a row that find a problem, until a GPU is unhealthy
	Good   int // looks in a row without a problem, until it is healthy again
	Failed int // failed looks in a row, until a healthy GPU is unknown
	// Ignore are codes of problems that do not count. A code includes those below it: "vendor"
	// all "vendor-N".
	Ignore []string
	// Exclude are the keys of GPUs that are left out.
	Exclude []string
}

// DefaultRules let a GPU fail at once and recover slowly.
var DefaultRules = Rules{Bad: 1, Good: 3, Failed: 3}

// State is what is known after some looks. The zero State is that before the first.
type State struct {
	// Generation is the number of looks so far.
	Generation int `json:"generation"`
	// Failed is why the last look failed, FailedLooks how many have failed since the last that
	// did not.
	Failed      string `json:"failed,omitempty"`
	FailedLooks int    `json:"failedLooks,omitempty"`
	// GPUs are all that any look has seen, in the order of addresses.
	GPUs []Condition `json:"gpus"`
}

// Condition is the state of one GPU.
type Condition struct {
	GPU
	Health string `json:"health"`         // Healthy, Unhealthy or Unknown
	Code   string `json:"code,omitempty"` // of the problem; empty for a healthy GPU
	Reason string `json:"reason,omitempty"`
	Words  string `json:"-"` // the vendor's own reason
	// Since is the generation in which Health became what it is.
	Since int `json:"since"`

	good, bad int // looks in a row up to now
}

// Change is a GPU whose health or code has changed.
type Change struct {
	Condition
	// Before is its health until then; empty for a GPU that was not seen before.
	Before string `json:"before,omitempty"`
}

// AllHealthy reports whether there is no GPU that is unhealthy or unknown.
func (s State) AllHealthy() bool {
	return !slices.ContainsFunc(s.GPUs, func(c Condition) bool { return c.Health != Healthy })
}

// Next returns the state after another look, and what that changed, in the order of GPUs.
//
// The first reading of a GPU decides at once; Rules are for what follows. A GPU that a look
// does not find any more has a problem. A failed look makes no GPU healthy: the recovery of a
// GPU starts anew, a GPU that was never seen healthy is unknown, and after Rules.Failed failed
// looks the healthy GPUs are unknown too. The problems of one GPU do not change another.
func (s State) Next(look Look, rules Rules) (State, []Change) {
	next := State{Generation: s.Generation + 1, Failed: look.Failed, GPUs: []Condition{}}
	if look.Failed != "" {
		next.FailedLooks = s.FailedLooks + 1
	}
	var changes []Change
	for _, p := range pairs(s, look, rules.Exclude) {
		c := p.next(next, rules)
		next.GPUs = append(next.GPUs, c)
		if c.Health != p.before.Health || c.Code != p.before.Code {
			changes = append(changes, Change{c, p.before.Health})
		}
	}
	return next, changes
}

// pair is a GPU with what was known of it and what is seen of it now.
type pair struct {
	before Condition // its Health is empty if the GPU is new
	seen   bool
	now    Reading
}

func pairs(s State, look Look, exclude []string) []pair {
	var all []pair
	at := map[string]int{}
	for _, c := range s.GPUs {
		at[c.Key()] = len(all)
		all = append(all, pair{before: c})
	}
	for _, r := range look.Readings {
		key := r.Key()
		if slices.Contains(exclude, key) {
			continue
		}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, pair{})
		}
		all[i].seen, all[i].now = true, r
	}
	slices.SortStableFunc(all, func(a, b pair) int {
		x, y := a.gpu(), b.gpu()
		return cmp.Or(x.BDF.Compare(y.BDF), cmp.Compare(x.Index, y.Index))
	})
	return all
}

// gpu returns the GPU as it is named now.
func (p pair) gpu() GPU {
	g := p.before.GPU
	if p.seen {
		g = p.now.GPU
		g.UUID = cmp.Or(g.UUID, p.before.UUID)
	}
	return g
}

// next applies the rules to one GPU.
func (p pair) next(s State, rules Rules) Condition {
	c, isNew := p.before, p.before.Health == ""
	c.GPU = p.gpu()
	problem, found := p.problem(s.Failed != "", rules.Ignore)
	switch {
	case found:
		if c.good, c.bad = 0, c.bad+1; isNew || c.Health == Unhealthy || c.bad >= rules.Bad {
			c.Health, c.Code, c.Reason, c.Words = Unhealthy, problem.Code, problem.Text, problem.Words
		}
		if !p.seen && (c.BDF != gpu.BDF{}) { // another GPU has its index now
			c.Index = -1
		}
	case s.Failed == "" && p.seen:
		if c.good, c.bad = c.good+1, 0; isNew || c.good >= rules.Good {
			c.Health, c.Code, c.Reason, c.Words = Healthy, "", "", ""
		}
	default:
		c.good = 0
		if isNew || (c.Health == Healthy && s.FailedLooks >= rules.Failed) {
			c.Health, c.Code, c.Reason, c.Words = Unknown, "", s.Failed, ""
		}
	}
	if c.Health != p.before.Health {
		c.Since = s.Generation
	}
	return c
}

// problem returns the first problem of a GPU that is not ignored. That a GPU is not there is
// its problem, unless the look failed.
func (p pair) problem(failed bool, ignore []string) (Problem, bool) {
	problems := p.now.Problems
	if !p.seen && !failed {
		problems = []Problem{{Code: Missing, Text: "it is gone from the PCI bus"}}
	}
	at := slices.IndexFunc(problems, func(q Problem) bool {
		return !slices.ContainsFunc(ignore,
			func(code string) bool { return q.Code == code || strings.HasPrefix(q.Code, code+"-") })
	})
	if at < 0 {
		return Problem{}, false
	}
	return problems[at], true
}
