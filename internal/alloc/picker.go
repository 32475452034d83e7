package alloc

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Picker answers Requests about one Graph. It is safe for concurrent use.
type Picker struct {
	gpus   int
	solver solver // nil if the graph is too large for each
}

// solver finds the best set for a question that has as many free GPUs as it asks
// for, and all required ones among them; ok is false if none is within the
// scope. Which solver a graph gets depends on its size and shape alone.
type solver interface {
	solve(q question) (s solution, ok bool)
}

// solution is a solver's part of an Answer.
type solution struct {
	gpus        []int
	class       topology.Kind
	exact       bool
	method      string
	explanation *Explanation
}

// New returns a Picker for the graph, which must not change any more. It is
// cheap: what a solver prepares, it prepares at the first Pick.
func New(g *topology.Graph) *Picker {
	p := &Picker{gpus: g.Len()}
	if p.gpus <= maxTable {
		p.solver = newTable(g)
	}
	return p
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
	if p.solver == nil {
		return Answer{}, &TooLargeError{GPUs: p.gpus, Max: maxTable}
	}
	if missing := q.missing(); len(missing) > 0 {
		return Answer{}, p.requiredError(q, missing)
	}
	if q.n > len(q.free) {
		return Answer{}, &InsufficientError{Need: q.n, Free: len(q.free)}
	}
	usual := slices.Contains(recommended, q.n)
	if !usual && r.Sizes == Enforce {
		return Answer{}, p.sizeError(q)
	}
	s, ok := p.solver.solve(q)
	if !ok {
		return Answer{}, p.scopeError(q)
	}
	a := Answer{
		GPUs: s.gpus, Policy: q.policy, Class: s.class,
		Exact: s.exact, Method: s.method, Explanation: s.explanation,
	}
	if !usual && r.Sizes == Warn {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s asked for; MetaX recommends 1, 2, 4 or 8", count(q.n)))
	}
	return a, nil
}

// PickMask is Pick for callers that count nanoseconds: bit i stands for GPU i,
// scope and size are free, and nothing is allocated once the first pick has
// built the tables. ok is false if there is no such set, required is not within
// free, free names a GPU that is not there, or the node has more than 16 GPUs.
func (p *Picker) PickMask(policy Policy, free, required uint32, n int) (gpus uint32, ok bool) {
	load, ok := p.solver.(tableSolver)
	if !ok || policy >= numPolicies || free>>p.gpus != 0 || required&^free != 0 {
		return 0, false
	}
	s := load().best(query{policy: policy, free: set(free), required: set(required), n: n})
	return uint32(s), s != 0
}

func (p *Picker) requiredError(q question, missing []int) error {
	e := &RequiredError{GPUs: missing}
	q.required = slices.DeleteFunc(slices.Clone(q.required), func(g int) bool { return slices.Contains(missing, g) })
	if s, ok := p.try(q); ok {
		e.Best = s.gpus
	}
	return e
}

func (p *Picker) sizeError(q question) error {
	e := &SizeError{N: q.n}
	distance := func(n int) int { return max(n-e.N, e.N-n) }
	for _, n := range recommended {
		if e.Nearest > 0 && distance(n) >= distance(e.Nearest) {
			continue
		}
		q.n = n
		if _, ok := p.try(q); ok {
			e.Nearest = n
		}
	}
	return e
}

func (p *Picker) scopeError(q question) error {
	e := &ScopeError{N: q.n, Scope: q.scope}
	for q.n = e.N - 1; q.n > 0 && e.Most == 0; q.n-- {
		if _, ok := p.try(q); ok {
			e.Most = q.n
		}
	}
	q.n, q.scope = e.N, Any
	if s, ok := p.try(q); ok {
		e.Best, e.Class = s.gpus, s.class
	}
	return e
}

// try solves a question of our own making, which may ask for too much.
func (p *Picker) try(q question) (solution, bool) {
	if q.n > len(q.free) || q.n < len(q.required) {
		return solution{}, false
	}
	q.explain = false
	return p.solver.solve(q)
}
