package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Explanation says why a set of GPUs was chosen. Its JSON form only ever grows.
type Explanation struct {
	Policy string    `json:"policy"`
	Chosen Candidate `json:"chosen"`
	// RunnerUp is the best other set; nil if no other meets the request.
	RunnerUp *Candidate `json:"runnerUp,omitempty"`
	// DecidedBy is the first component of Key in which the two differ.
	DecidedBy Component `json:"decidedBy,omitempty"`
	// Key lists the components in the order in which the policy compares them.
	Key []Component `json:"key"`
	// Exact says that it is proven that no other set is better than the chosen
	// one, and none but that better than the runner-up.
	Exact bool `json:"exact"`
	// Joint says that the set was chosen together with those of other requests, so
	// that a runner-up may be better by itself.
	Joint bool `json:"joint,omitempty"`
}

// Candidate is a set of GPUs with what it was judged by.
type Candidate struct {
	GPUs       []int         `json:"gpus,omitempty"`
	Class      topology.Kind `json:"class"`
	Capability []Count       `json:"capability"` // of the GPUs
	Weight     int           `json:"weight"`
	Rest       []Count       `json:"rest"` // the capability of the free GPUs that remain
	Cut        int           `json:"cut"`
	Locality   int           `json:"locality"`
	// What single policies judge by besides; 0 where it is no part of the policy.
	Score float64 `json:"score,omitempty"` // Weighted: gain·weight − loss·cut
	Jobs  int     `json:"jobs,omitempty"`  // MTF: the jobs that would fill the node, after less before
}

// Count says that as many disjoint sets of Size GPUs can be served at once, each
// with a ring of links of Class or better.
type Count struct {
	Class topology.Kind `json:"class"`
	Size  int           `json:"size"`
	Sets  int           `json:"sets"`
}

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
