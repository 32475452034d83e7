// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// MaxRank is the rank of the best nodes, the greatest that a scheduler takes.
const MaxRank = 10

// Ranks returns the rank of each node for a request: MaxRank for the best, one less for the
// next best, and so on to 0; equally good nodes have the same rank. Nodes that do not fit and
// those judged by Counts have the rank 0.
//
// Nodes are compared by one measure: by the weights if they are set; otherwise by the keys, or
// by scores and losses as the policy says if one of the nodes has no key.
func Ranks(all []Judgement, r Request, w protocol.Weights) []int {
	var by func(a, b *Judgement) int
	switch {
	case w.Set():
		by = func(a, b *Judgement) int { return cmp.Compare(w.Value(a.Score, a.Loss), w.Value(b.Score, b.Loss)) }
	case slices.ContainsFunc(all, func(j Judgement) bool { return j.Fits && j.By == Values }):
		by = compareValues(r.Policy)
	default:
		by = func(a, b *Judgement) int { return cmp.Compare(a.Offer.order, b.Offer.order) }
	}
	var best []*Judgement // one of the equally good nodes of each rank but 0, the best first
	find := func(j *Judgement) (at int, known bool) {
		if !j.Fits || j.By == Counts || (len(best) == MaxRank && by(j, best[MaxRank-1]) < 0) {
			return MaxRank, false
		}
		return slices.BinarySearchFunc(best, j, func(b, j *Judgement) int { return by(j, b) })
	}
	for i := range all {
		if at, known := find(&all[i]); !known && at < MaxRank {
			best = slices.Insert(best[:min(len(best), MaxRank-1)], at, &all[i])
		}
	}
	ranks := make([]int, len(all))
	for i := range all {
		if at, known := find(&all[i]); known {
			ranks[i] = MaxRank - at
		}
	}
	return ranks
}

// compareValues compares as a policy would compare keys: by what it puts first.
func compareValues(p key.Policy) func(a, b *Judgement) int {
	score := func(a, b *Judgement) int { return cmp.Compare(a.Score, b.Score) }
	loss := func(a, b *Judgement) int { return cmp.Compare(b.Loss, a.Loss) }
	switch p.Objective() {
	case key.ObjectiveFirst:
		return func(_, _ *Judgement) int { return 0 }
	case key.ObjectiveWeighted:
		return func(a, b *Judgement) int {
			return cmp.Compare(p.Score(int64(a.Score), int64(a.Loss)), p.Score(int64(b.Score), int64(b.Loss)))
		}
	case key.ObjectiveBinpack, key.ObjectiveMTF:
		return func(a, b *Judgement) int { return cmp.Or(loss(a, b), score(a, b)) }
	default: // Spread, and Heaviest, which nobody can request
		return func(a, b *Judgement) int { return cmp.Or(score(a, b), loss(a, b)) }
	}
}
