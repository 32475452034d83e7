package alloc

import "slices"

// maxBarred bounds how many sets are looked at for a runner-up, maxBarredSearch
// where each of them is searched for.
const (
	maxBarred       = 128
	maxBarredSearch = 16
)

// explain compares the best set with the second best, which lacks at least one
// of its GPUs: of the best sets without each of them it is the best. Of GPUs that
// nothing but their indices tells apart it lacks the last.
func (p *Picker) explain(q question, best solution) *Explanation {
	key, most := q.policy.key(), maxBarred
	if x, ok := p.solver().(*irregular); ok {
		key, most = x.compared(q.policy), maxBarredSearch
	}
	e := &Explanation{
		Policy: q.policy.String(), Chosen: p.solver().figures(q, best.gpus),
		Key: slices.Concat(key, []Component{ByOrder}), Exact: !best.bounded,
	}
	lacking := p.lacking(q, best.gpus)
	if len(lacking) > most {
		lacking, e.Exact = lacking[len(lacking)-most:], false
	}
	for _, g := range lacking {
		without := q
		without.barred = []int{g}
		s, ok := p.solver().solve(without)
		e.Exact = e.Exact && !s.bounded
		if !ok {
			continue
		}
		other := p.solver().figures(q, s.gpus)
		if e.RunnerUp != nil {
			if by, _ := compareBy(key, *e.RunnerUp, other); by >= 0 {
				continue
			}
		}
		e.RunnerUp = &other
	}
	if e.RunnerUp != nil {
		_, e.DecidedBy = compareBy(key, e.Chosen, *e.RunnerUp)
	}
	return e
}

// lacking are the GPUs of a set one of which the second best set lacks,
// ascending.
func (p *Picker) lacking(q question, gpus []int) []int {
	if len(q.free) == q.n {
		return nil
	}
	var last []int
	for _, g := range slices.Backward(gpus) {
		_, required := slices.BinarySearch(q.required, g)
		if !required && !slices.ContainsFunc(last, func(o int) bool { return p.scale.alike(g, o) }) {
			last = append(last, g)
		}
	}
	slices.Sort(last)
	return last
}
