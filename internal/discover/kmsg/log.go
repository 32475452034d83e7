// SPDX-License-Identifier: Apache-2.0

package kmsg

import (
	"maps"
	"slices"
	"strings"

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
	BDF    gpu.BDF        `json:"bdf"`
	Errors map[string]int `json:"errors"` // by module and level: "SMI.ERROR"
	// EIDs are the last of them, the newest first, each once.
	EIDs []EID `json:"eids,omitempty"`
}

// EID is a number that the driver gave an error, and its first text.
type EID struct {
	Number uint32 `json:"number"`
	Text   string `json:"text"`
}

const (
	maxModules = 32 // of a GPU, with their levels; others count as otherModule
	maxEIDs    = 16 // of a GPU

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
		l.GPUs = append(l.GPUs, Count{BDF: m.BDF, Errors: map[string]int{}})
	}
	l.GPUs[at].add(m)
	return m, true
}

func (c *Count) add(m Message) {
	key := m.Module + "." + m.Level
	if _, known := c.Errors[key]; !known && len(c.Errors) >= maxModules {
		key = otherModule + "." + m.Level
	}
	c.Errors[key]++
	if m.EID == 0 {
		return
	}
	last := EID{m.EID, m.Text}
	if at := slices.IndexFunc(c.EIDs, func(e EID) bool { return e.Number == m.EID }); at >= 0 {
		last = c.EIDs[at]
		c.EIDs = slices.Delete(c.EIDs, at, at+1)
	}
	c.EIDs = slices.Insert(c.EIDs, 0, last)
	c.EIDs = c.EIDs[:min(len(c.EIDs), maxEIDs)]
}

// IsFirst reports whether a message that was added is the only one of its module and level
// about its GPU.
func (l *Log) IsFirst(m Message) bool {
	return slices.ContainsFunc(l.GPUs, func(c Count) bool { return c.BDF == m.BDF && c.Errors[m.Module+"."+m.Level] == 1 })
}

// Counters are the messages about a GPU.
func (l *Log) Counters(of gpu.BDF) (all []gpu.Counter) {
	for _, c := range l.GPUs {
		if c.BDF != of {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(c.Errors)) {
			module, level, _ := strings.Cut(key, ".")
			all = append(all, gpu.Counter{Kind: gpu.CountLog, Type: level, Name: module, Value: float64(c.Errors[key])})
		}
		for _, e := range c.EIDs {
			all = append(all, gpu.Counter{Kind: gpu.LogEID, Type: "driver", Name: e.Text, Value: float64(e.Number)})
		}
	}
	return all
}
