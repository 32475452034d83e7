// SPDX-License-Identifier: Apache-2.0

package kmsg

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Log counts the messages of one boot. Its size is bounded, whatever is written to the
// kernel's log.
type Log struct {
	Boot string `json:"boot"` // ID of the boot
	// Next is the sequence number of the first record that was not read yet.
	Next uint64  `json:"next"`
	GPUs []Count `json:"gpus,omitempty"`
	// Lost is how many records the kernel overwrote before they were read.
	Lost uint64 `json:"lost,omitempty"`
}

// Count are the messages about one GPU.
type Count struct {
	BDF gpu.BDF `json:"bdf"`
	// Errors have each module, level and EID once, the newest first.
	Errors []Error `json:"errors"`
}

// Error are the messages about one GPU of the same module, level and EID.
type Error struct {
	Module string `json:"module"`
	Level  string `json:"level"`         // ERROR or ALERT
	EID    uint32 `json:"eid,omitempty"` // 0 without one, and for those before the last maxEIDs
	Text   string `json:"text"`          // of the first
	Count  int    `json:"count"`
	// Last is when the last was logged, in microseconds of the kernel's clock since the boot.
	Last uint64 `json:"last"`
}

const (
	maxModules = 32 // of a GPU, with their levels; others count as otherModule
	maxEIDs    = 16 // of a GPU; an older one counts as without an EID

	otherModule = "OTHER"
)

// Add adds a record. One that was added before is not added again; one that no longer is of
// the form, or is about no GPU of the node, counts only as read.
func (l *Log) Add(record string, node []gpu.GPU) (m Message, added bool) {
	sequence, m, ok := Parse(record)
	if sequence < l.Next {
		return Message{}, false
	}
	if sequence > 0 {
		if l.Next > 0 {
			l.Lost += sequence - l.Next
		}
		l.Next = sequence + 1
	}
	if !ok || !slices.ContainsFunc(node, func(g gpu.GPU) bool { return g.BDF == m.BDF || slices.Contains(g.VFs, m.BDF) }) {
		return Message{}, false
	}
	at := slices.IndexFunc(l.GPUs, func(c Count) bool { return c.BDF == m.BDF })
	if at < 0 {
		at = len(l.GPUs)
		l.GPUs = append(l.GPUs, Count{BDF: m.BDF})
	}
	l.GPUs[at].add(m)
	return m, true
}

func (c *Count) add(m Message) {
	now := Error{Module: m.Module, Level: m.Level, EID: m.EID, Text: m.Text}
	if !slices.ContainsFunc(c.Errors, now.isOfModule) && c.hasMost() {
		now.Module = otherModule
	}
	isSame := func(e Error) bool { return e.EID == now.EID && now.isOfModule(e) }
	if at := slices.IndexFunc(c.Errors, isSame); at >= 0 {
		now = c.Errors[at]
		c.Errors = slices.Delete(c.Errors, at, at+1)
	}
	now.Count, now.Last = now.Count+1, m.Time
	c.Errors = slices.Insert(c.Errors, 0, now)
	c.foldEIDs()
}

// foldEIDs lets the oldest error with an EID count as one without, if there are too many.
func (c *Count) foldEIDs() {
	oldest, all := 0, 0
	for i, e := range c.Errors {
		if e.EID != 0 {
			oldest, all = i, all+1
		}
	}
	if all <= maxEIDs {
		return
	}
	old := c.Errors[oldest]
	old.EID = 0
	rest := slices.IndexFunc(c.Errors, func(e Error) bool { return e.EID == 0 && old.isOfModule(e) })
	if rest < 0 {
		c.Errors[oldest] = old
		return
	}
	c.Errors[rest].Count += old.Count
	c.Errors[rest].Last = max(c.Errors[rest].Last, old.Last)
	c.Errors = slices.Delete(c.Errors, oldest, oldest+1)
}

// hasMost reports whether there are errors of maxModules modules and levels.
func (c *Count) hasMost() bool {
	all := 0
	for i := range c.Errors {
		first := 0
		for c.Errors[first].Module != c.Errors[i].Module || c.Errors[first].Level != c.Errors[i].Level {
			first++
		}
		if first == i {
			all++
		}
	}
	return all >= maxModules
}

// isOfModule reports whether another error is of the same module and level.
func (e Error) isOfModule(o Error) bool { return e.Module == o.Module && e.Level == o.Level }

// modules are the errors summed up by module and level, in their order.
func (c *Count) modules() (sums []Error) {
	for _, e := range c.Errors {
		if at := slices.IndexFunc(sums, e.isOfModule); at >= 0 {
			sums[at].Count += e.Count
		} else {
			sums = append(sums, e)
		}
	}
	return sums
}

// IsFirst reports whether a message that was added is the only one of its module and level
// about its GPU.
func (l *Log) IsFirst(m Message) bool {
	only := 0
	for _, c := range l.GPUs {
		for _, e := range c.Errors {
			if c.BDF == m.BDF && e.Module == m.Module && e.Level == m.Level {
				only += e.Count
			}
		}
	}
	return only == 1
}

// Counters are the messages about a GPU.
func (l *Log) Counters(of gpu.BDF) (all []gpu.Counter) {
	for _, c := range l.GPUs {
		if c.BDF != of {
			continue
		}
		sums := c.modules()
		slices.SortFunc(sums, func(a, b Error) int {
			return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Level, b.Level))
		})
		for _, e := range sums {
			all = append(all, gpu.Counter{Kind: gpu.CountLog, Type: e.Level, Name: e.Module, Value: float64(e.Count)})
		}
		for i, e := range c.Errors {
			isKnown := slices.ContainsFunc(c.Errors[:i], func(o Error) bool { return o.EID == e.EID })
			if e.EID != 0 && !isKnown {
				all = append(all, gpu.Counter{Kind: gpu.LogEID, Type: "driver", Name: e.Text, Value: float64(e.EID)})
			}
		}
	}
	return all
}
