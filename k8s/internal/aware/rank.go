package aware

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// MaxRank is the rank of the best nodes, the greatest that a scheduler takes.
const MaxRank = 10

// Ranks returns the rank of each node for a request: MaxRank for the best, one less for the next
// best, and so on to 0; equally good nodes have the same rank. Nodes that do not fit and those
// judged by Counts have the rank 0.
//
// Nodes are compared by one measure: by the weights if they are set; otherwise by the keys, or by
// scores and losses as the policy says if one of the nodes has no key.
func Ranks(all []Judgement, r Request, w protocol.Weights) []int {
	ranks := make([]int, len(all))
	by := compareKeys
	switch {
	case w.Set():
		by = func(a, b *Judgement) int { return cmp.Compare(w.Value(a.Score, a.Loss), w.Value(b.Score, b.Loss)) }
	case slices.ContainsFunc(all, func(j Judgement) bool { return j.Fits && j.By == Values }):
		by = compareValues(r.Policy)
	}
	// Most nodes are alike, and comparing keys takes longest.
	type kind struct {
		offer       *Offer
		score, loss int
	}
	members := map[kind][]int{}
	var kinds []*Judgement
	for i := range all {
		j := &all[i]
		if !j.Fits || j.By == Counts {
			continue
		}
		k := kind{j.Offer, j.Score, j.Loss}
		if members[k] == nil {
			kinds = append(kinds, j)
		}
		members[k] = append(members[k], i)
	}
	slices.SortStableFunc(kinds, func(a, b *Judgement) int { return by(b, a) })
	rank := MaxRank
	for i, j := range kinds {
		if i > 0 && by(kinds[i-1], j) != 0 {
			rank = max(0, rank-1)
		}
		for _, at := range members[kind{j.Offer, j.Score, j.Loss}] {
			ranks[at] = rank
		}
	}
	return ranks
}

func compareKeys(a, b *Judgement) int { return a.Offer.Key.Compare(b.Offer.Key) }

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
	}
	return func(a, b *Judgement) int { return cmp.Or(score(a, b), loss(a, b)) }
}
