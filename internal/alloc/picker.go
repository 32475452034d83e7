package alloc

import (
	"fmt"
	"slices"
	"sort"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/table"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Picker answers Requests about one Graph. It is safe for concurrent use.
type Picker struct {
	gpus  int
	scale *link.Graph
	table *table.Solver // of a small graph, otherwise nil
	large *large        // of a graph of more than maxComplete GPUs, otherwise nil
}

// solver finds the best set for a question that has as many free GPUs as it asks
// for, and all required ones among them; ok is false if none is within the scope,
// or none was found before the search ended. Which solver a graph gets depends on
// its size and shape alone.
type solver interface {
	Solve(q key.Question) (s key.Solution, ok bool)
	// figures are what the policy judges these GPUs by.
	Figures(q key.Question, gpus []int) key.Candidate
}

// New returns a Picker for the graph, which must not change any more. It is
// cheap: what a solver prepares, it prepares at the first Pick.
func New(g *topology.Graph) *Picker {
	return newPicker(g, link.ByClass(g))
}

// NewWeighted is New with links weighed in that way. The error is an
// *ArgumentError: w is none of the ways, or a bandwidth is none.
func NewWeighted(g *topology.Graph, w link.Weights) (*Picker, error) {
	s, err := link.New(g, w)
	if err != nil {
		return nil, &ArgumentError{Reason: err.Error()}
	}
	return newPicker(g, s), nil
}

func newPicker(g *topology.Graph, s *link.Graph) *Picker {
	p := &Picker{gpus: g.Len(), scale: s}
	if p.gpus <= table.MaxGPUs {
		p.table = table.New(s)
	}
	if p.gpus > table.MaxComplete && p.gpus <= tree.MaxGPUs {
		p.large = newLarge(s)
	}
	return p
}

// solver is the one for the graph; nil for one that is too large for any. The
// hierarchy goes before a table that would have to be built for it.
func (p *Picker) solver() solver {
	switch {
	case p.large != nil && (p.table == nil || p.large.nests()):
		return p.large.solver()
	case p.table != nil:
		return p.table
	}
	return nil
}

// Pick returns the best set of GPUs for the request. An error is one of
// *ArgumentError, *TooLargeError or, with errors.Is(err, ErrUnmet), of
// *RequiredError, *InsufficientError, *SizeError and *ScopeError; these carry
// the best alternative there is.
func (p *Picker) Pick(r Request) (Answer, error) {
	q, err := r.check(p.gpus)
	if err != nil {
		return Answer{}, err
	}
	if p.solver() == nil {
		return Answer{}, &TooLargeError{GPUs: p.gpus, Max: tree.MaxGPUs}
	}
	if gone := missing(q); len(gone) > 0 {
		return Answer{}, p.requiredError(q, gone)
	}
	if q.N > len(q.Free) {
		return Answer{}, &InsufficientError{Need: q.N, Free: len(q.Free), Of: p.gpus}
	}
	usual := slices.Contains(recommended, q.N)
	if !usual && r.Sizes == Enforce {
		return Answer{}, p.sizeError(q)
	}
	s, ok := p.solver().Solve(q)
	if !ok {
		if s, err = p.unscoped(q, s.Bounded); err != nil {
			return Answer{}, err
		}
	}
	a := Answer{GPUs: s.GPUs, Policy: q.Policy, Class: s.Class, Exact: !s.Bounded, Method: s.Method}
	if !a.Exact {
		a.Warnings = append(a.Warnings, unproven)
	}
	if r.Explain {
		a.Explanation = p.explain(q, s)
	}
	if !usual && r.Sizes == Warn {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s requested; MetaX recommends 1, 2, 4 or 8", wording.Count(q.N, "GPU")))
	}
	return a, nil
}

// unproven is the warning about an answer that is not exact.
const unproven = "these may not be the best GPUs: the links of this node do not nest, so only some sets were compared"

func (p *Picker) requiredError(q key.Question, missing []int) error {
	e := &RequiredError{GPUs: missing}
	q.Required = slices.DeleteFunc(slices.Clone(q.Required), func(g int) bool { return slices.Contains(missing, g) })
	if s, ok := p.try(q); ok {
		e.Best = s.GPUs
	}
	return e
}

func (p *Picker) sizeError(q key.Question) error {
	e := &SizeError{N: q.N}
	distance := func(n int) int { return max(n-e.N, e.N-n) }
	for _, n := range recommended {
		if e.Nearest > 0 && distance(n) >= distance(e.Nearest) {
			continue
		}
		q.N = n
		if _, ok := p.try(q); ok {
			e.Nearest = n
		}
	}
	return e
}

// unscoped is the best set without the scope, if it is within it all the same,
// which the search within it ended too soon to find: then it is the best there,
// too. The error is a *ScopeError otherwise.
func (p *Picker) unscoped(q key.Question, bounded bool) (key.Solution, error) {
	scope := q.Scope
	q.Scope = key.Any
	s, ok := p.try(q)
	if ok && bounded && p.within(scope, s) {
		return s, nil
	}
	q.Scope = scope
	e := &ScopeError{N: q.N, Scope: scope, Unfinished: bounded, Most: p.most(q)}
	if ok {
		e.Best, e.Class = s.GPUs, s.Class
	}
	return key.Solution{}, e
}

// within reports whether a set lies within the scope.
func (p *Picker) within(scope key.Scope, s key.Solution) bool {
	for at, i := range s.GPUs {
		for _, j := range s.GPUs[:at] {
			if !scope.Allows(p.scale.Locality(i, j)) {
				return false
			}
		}
	}
	return scope != key.Link || s.Class == topology.MX
}

// most is the greatest number below that of the question that its scope holds.
// Where a part of a set within the scope is within it too, it is found by halves;
// a part of a ring need not be one, unless links nest.
func (p *Picker) most(q key.Question) int {
	holds := func(n int) bool {
		q.N = n
		_, ok := p.try(q)
		return ok
	}
	if q.Scope == key.Link && (p.large == nil || !p.large.nests()) {
		from := q.N - 1
		for n := from; n > max(0, from-maxSmaller); n-- {
			if holds(n) {
				return n
			}
		}
		return 0
	}
	least := max(1, len(q.Required))
	beyond := sort.Search(q.N-least, func(i int) bool { return !holds(least + i) })
	if beyond == 0 {
		return 0
	}
	return least + beyond - 1
}

// maxSmaller bounds how many smaller numbers are tried one by one.
const maxSmaller = 64

// try solves a question of our own making, which may ask for too much.
func (p *Picker) try(q key.Question) (key.Solution, bool) {
	if q.N > len(q.Free) || q.N < len(q.Required) {
		return key.Solution{}, false
	}
	return p.solver().Solve(q)
}
