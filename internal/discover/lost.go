// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// noteLost notes which GPUs of the record are gone, also those that were gone when it was
// written. One that has its UUID at another address has moved.
func (h Host) noteLost(node *gpu.Node) {
	if h.Recorded == nil {
		return
	}
	earlier := slices.Clone(h.Recorded.Lost)
	for _, g := range h.Recorded.GPUs {
		earlier = append(earlier, gpu.Lost{BDF: g.BDF, UUID: g.UUID, Index: g.Index})
	}
	slices.SortStableFunc(earlier, func(a, b gpu.Lost) int { return a.BDF.Compare(b.BDF) })
	for _, l := range slices.CompactFunc(earlier, func(a, b gpu.Lost) bool { return a.BDF == b.BDF }) {
		_, here := node.Lookup(l.BDF)
		if here || isVF(*node, l.BDF) || slices.ContainsFunc(node.GPUs, func(g gpu.GPU) bool {
			return l.UUID != "" && strings.EqualFold(string(g.UUID), string(l.UUID))
		}) {
			continue
		}
		node.Lost = append(node.Lost, l)
		node.Warnings = append(node.Warnings, l.String())
	}
}
