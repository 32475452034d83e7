// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// maxLookups limits how many GPUs of the best set are excluded to find the runner-up.
const maxLookups = 128

// explainChoice compares the best set with the runner-up. That set lacks at least one GPU of
// the best set, so it is the best of the sets that exclude one of them each. Of GPUs whose
// links are alike it lacks the one with the highest number. A set that is not proven to be the
// best has no runner-up: that could be better.
func (p *Picker) explainChoice(q key.Question, best key.Solution) *explain.Explanation {
	components := q.Policy.Key()
	e := &explain.Explanation{
		Policy: q.Policy.String(), Chosen: p.nodeSolver().Figures(q, best.GPUs),
		Key: slices.Concat(components, []key.Component{key.ByOrder}), Exact: !best.Bounded,
	}
	if best.Bounded {
		return e
	}
	lacking := p.lacking(q, best.GPUs)
	if len(lacking) > maxLookups {
		lacking, e.Exact = lacking[len(lacking)-maxLookups:], false
	}
	for _, g := range lacking {
		without := q
		without.Excluded = []int{g}
		s, ok := p.nodeSolver().Solve(without)
		if !ok {
			continue
		}
		other := p.nodeSolver().Figures(q, s.GPUs)
		if e.RunnerUp != nil {
			if by, _ := key.Compare(components, *e.RunnerUp, other); by >= 0 {
				continue
			}
		}
		e.RunnerUp = &other
	}
	if e.RunnerUp != nil {
		_, e.DecidedBy = key.Compare(components, e.Chosen, *e.RunnerUp)
	}
	return e
}

// lacking returns the GPUs of a set, one of which the runner-up lacks, ascending.
func (p *Picker) lacking(q key.Question, gpus []int) []int {
	if len(q.Free) == q.N {
		return nil
	}
	var last []int
	for _, g := range slices.Backward(gpus) {
		_, required := slices.BinarySearch(q.Required, g)
		if !required && !slices.ContainsFunc(last, func(o int) bool { return p.graph.Alike(g, o) }) {
			last = append(last, g)
		}
	}
	slices.Sort(last)
	return last
}
