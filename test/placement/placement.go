// SPDX-License-Identifier: Apache-2.0

// Package placement has what the tests on a real Kubernetes cluster measure of its schedulers,
// as values: they write it, and test/bench makes a page of it. It measures nothing itself.
package placement

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Figures are the measurements of one run.
type Figures struct {
	Nodes []Nodes `json:"nodes"`
	// Load is the load average of the machine before Nodes were measured.
	Load float64 `json:"load"`
	Days []Day   `json:"days"`
	// Rates are how many pods get a node in a second, by scheduler, where many are created at
	// once on the idle nodes of a day.
	Rates  map[string]float64 `json:"rates"`
	Starts Starts             `json:"starts"`
	// Idle are the programs of the chart, by name, on a node of 8 GPUs on which no pod comes
	// or goes.
	Idle map[string]Idle `json:"idle"`
	// Operator is nil where it was not measured.
	Operator *Operator `json:"operator,omitempty"`
	// Volcano is what placing pods by Volcano costs, nil where it was not measured.
	Volcano *Nodes `json:"volcano,omitempty"`
}

// Operator is what the operator's controller needs with so many nodes: processor time for one
// look at all of them in nanoseconds, and memory of its own (RssAnon) in bytes.
type Operator struct {
	Nodes  int     `json:"nodes"`
	Look   float64 `json:"look"`
	Memory int64   `json:"memory"`
}

// Starts are times from the creation of a pod to its first instruction, in nanoseconds:
// medians of pods without a GPU and with four.
type Starts struct {
	Pairs   int     `json:"pairs"` // a pod of each kind, one after the other
	Without float64 `json:"without"`
	With    float64 `json:"with"`
	// Difference is the median of the differences of pairs. Half of them lie within Quartiles.
	Difference float64    `json:"difference"`
	Quartiles  [2]float64 `json:"quartiles"`
}

// Idle is what a process needs while it has nothing to do: the share of one processor, from 0
// to 1, and memory of its own (RssAnon) in bytes.
type Idle struct {
	CPU    float64 `json:"cpu"`
	Memory int64   `json:"memory"`
}

// Put adds what was measured on so many nodes, in place of what was measured on as many
// before.
func (f *Figures) Put(n Nodes) {
	f.Nodes = append(slices.DeleteFunc(f.Nodes, func(o Nodes) bool { return o.Nodes == n.Nodes }), n)
	slices.SortFunc(f.Nodes, func(a, b Nodes) int { return a.Nodes - b.Nodes })
}

// PutDay adds the day of a scheduler, in place of an earlier one.
func (f *Figures) PutDay(d Day) {
	if at := slices.IndexFunc(f.Days, func(o Day) bool { return o.Scheduler == d.Scheduler }); at >= 0 {
		f.Days[at] = d
		return
	}
	f.Days = append(f.Days, d)
}

// PutRate adds the rate of a scheduler, in place of an earlier one.
func (f *Figures) PutRate(scheduler string, rate float64) {
	if f.Rates == nil {
		f.Rates = map[string]float64{}
	}
	f.Rates[scheduler] = rate
}

// Nodes is what placing pods on so many nodes costs.
type Nodes struct {
	Nodes int `json:"nodes"`
	Pods  int `json:"pods"` // all created at once
	// Seconds is the time from the first of the pods until all have a node.
	Seconds float64 `json:"seconds"`
	// Instant is the same with an extender that answers at once, in the same run.
	Instant float64 `json:"instant"`
	// Memory is that of the extender's own, in bytes.
	Memory int64   `json:"memory"`
	Filter Answers `json:"filter"`
	// Prioritize is less often asked than Filter: never for a pod that only one node fits.
	Prioritize Answers `json:"prioritize"`
}

// Answers are how long the extender took for its answers.
type Answers struct {
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"` // of all together
	// Within has how many answers took at most so many seconds; bounds ascend.
	Within []Within `json:"within"`
}

// Plus are the answers of both, which have the same bounds, or none.
func (a Answers) Plus(b Answers) Answers {
	sum := Answers{Count: a.Count + b.Count, Seconds: a.Seconds + b.Seconds, Within: slices.Clone(b.Within)}
	for i, w := range a.Within {
		sum.Within[i].Count += w.Count
	}
	return sum
}

// Within is one bound of Answers.
type Within struct {
	Seconds float64 `json:"seconds"`
	Count   int     `json:"count"`
}

// Day is what a scheduler made of the jobs of a day.
type Day struct {
	Scheduler string `json:"scheduler"`
	// Placed has the place of each job of the trace, in its order.
	Placed []Place `json:"placed"`
}

// Place is where a job ran: the node, from 0, and its GPUs. A job that found no place has no
// GPUs.
type Place struct {
	Node int   `json:"n"`
	GPUs []int `json:"g,omitempty"`
}

// Read reads Figures from a file.
func Read(path string) (f Figures, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("read the figures of the cluster %s: %w", path, err)
	}
	return f, nil
}

// Add reads Figures from a file, if it is there, changes them and writes them.
func Add(path string, change func(*Figures)) error {
	f, err := Read(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	change(&f)
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
