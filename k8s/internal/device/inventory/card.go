// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
)

// card is a GPU of the Node with its health. A GPU that only the State still knows has the
// Index -1.
type card struct {
	gpu.GPU
	health health.Condition
}

// cards joins a Node and a State. A GPU that the Node does not list any more is left out if
// its UUID is now at another address, as after a card was moved.
func cards(n gpu.Node, s health.State) []card {
	var all []card
	here, uuids := map[string]bool{}, map[string]bool{}
	for _, g := range n.GPUs {
		key := health.GPU{Index: g.Index, BDF: g.BDF}.Key()
		c := health.Condition{Health: health.Unknown, Code: Unseen, Reason: "no look was taken at it yet"}
		if at := slices.IndexFunc(s.GPUs, func(c health.Condition) bool { return c.Key() == key }); at >= 0 {
			c = s.GPUs[at]
		}
		g.UUID = cmp.Or(g.UUID, c.UUID)
		here[key], uuids[strings.ToLower(string(g.UUID))] = true, true
		all = append(all, card{g, c})
	}
	for _, c := range s.GPUs {
		if here[c.Key()] || (c.BDF == gpu.BDF{}) || (c.UUID != "" && uuids[strings.ToLower(string(c.UUID))]) {
			continue
		}
		if c.Health == health.Healthy { // the State is older than the Node
			c.Health, c.Code, c.Reason = health.Unhealthy, health.Missing, "it is gone from the PCI bus"
		}
		uuids[strings.ToLower(string(c.UUID))] = true
		all = append(all, card{gpu.GPU{Index: -1, UUID: c.UUID, BDF: c.BDF, NUMA: gpu.NUMAUnknown}, c})
	}
	slices.SortStableFunc(all, func(a, b card) int { return a.BDF.Compare(b.BDF) })
	return all
}
