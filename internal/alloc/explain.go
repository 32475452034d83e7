package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/exchange"
	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// maxLookups bounds how many sets are looked at for a runner-up, maxSearches
// where each of them is searched for.
const (
	maxLookups       = 128
	maxSearches = 16
)

// explain compares the best set with the second best, which lacks at least one
// of its GPUs: of the best sets without each of them it is the best. Of GPUs that
// nothing but their indices tells apart it lacks the last.
func (p *Picker) explain(q key.Question, best key.Solution) *explain.Explanation {
	components, most := q.Policy.Key(), maxLookups
	if x, ok := p.solver().(*exchange.Solver); ok {
		components, most = x.Key(q.Policy), maxSearches
	}
	e := &explain.Explanation{
		Policy: q.Policy.String(), Chosen: p.solver().Figures(q, best.GPUs),
		Key: slices.Concat(components, []key.Component{key.ByOrder}), Exact: !best.Bounded,
	}
	lacking := p.lacking(q, best.GPUs)
	if len(lacking) > most {
		lacking, e.Exact = lacking[len(lacking)-most:], false
	}
	for _, g := range lacking {
		without := q
		without.Excluded = []int{g}
		s, ok := p.solver().Solve(without)
		e.Exact = e.Exact && !s.Bounded
		if !ok {
			continue
		}
		other := p.solver().Figures(q, s.GPUs)
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

// lacking are the GPUs of a set one of which the second best set lacks,
// ascending.
func (p *Picker) lacking(q key.Question, gpus []int) []int {
	if len(q.Free) == q.N {
		return nil
	}
	var last []int
	for _, g := range slices.Backward(gpus) {
		_, required := slices.BinarySearch(q.Required, g)
		if !required && !slices.ContainsFunc(last, func(o int) bool { return p.scale.Alike(g, o) }) {
			last = append(last, g)
		}
	}
	slices.Sort(last)
	return last
}
