// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"slices"
	"sort"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// requiredError names the best set without the required GPUs that are not free.
func (p *Picker) requiredError(q key.Question, notFree []int) error {
	e := &requiredError{GPUs: notFree}
	q.Required = slices.DeleteFunc(slices.Clone(q.Required), func(g int) bool { return slices.Contains(notFree, g) })
	if s, ok := p.try(q); ok {
		e.Best = s.GPUs
	}
	return e
}

// sizeError names the nearest recommended number that can be picked, and the origin of the
// size rule.
func (p *Picker) sizeError(q key.Question, origin string) error {
	e := &sizeError{N: q.N, Origin: origin}
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

// withoutScope solves the question without its scope. If the search within the scope was
// bounded, and the best set without the scope happens to be within it, that set is the
// answer. Otherwise the error is a *scopeError, which names it.
func (p *Picker) withoutScope(q key.Question, bounded bool) (key.Solution, error) {
	scope := q.Scope
	q.Scope = key.Any
	s, ok := p.try(q)
	if ok && bounded && p.within(scope, s) {
		return s, nil
	}
	q.Scope = scope
	e := &scopeError{N: q.N, Scope: scope, Unfinished: bounded, Required: len(q.Required) > 0}
	if !bounded {
		all := q
		all.Free = make([]int, p.gpus)
		for i := range all.Free {
			all.Free[i] = i
		}
		if found, possible := p.try(all); !possible && !found.Bounded {
			e.Never, q = true, all
		}
	}
	e.Most = p.mostWithin(q)
	e.Place = e.Never && !e.Required && (scope != key.Link || e.Most == p.largestDomain())
	if ok {
		e.Best, e.Class = s.GPUs, s.Class
	}
	return key.Solution{}, e
}

// within reports whether a set is within the scope.
func (p *Picker) within(scope key.Scope, s key.Solution) bool {
	for at, i := range s.GPUs {
		for _, j := range s.GPUs[:at] {
			if !scope.Allows(p.graph.Locality(i, j)) {
				return false
			}
		}
	}
	return scope != key.Link || s.Class == topology.MX
}

// mostWithin returns the greatest number, below that of the question, of GPUs that can be
// picked within its scope. If every subset of a set within the scope is within it, binary
// search finds the number. Subsets of a set with a ring may have no ring, unless the links
// nest; then smaller numbers are tried one by one, up to maxSmaller of them.
func (p *Picker) mostWithin(q key.Question) int {
	possible := func(n int) bool {
		q.N = n
		_, ok := p.try(q)
		return ok
	}
	if q.Scope == key.Link && (p.large == nil || !p.large.nests()) {
		from := q.N - 1
		for n := from; n > max(0, from-maxSmaller); n-- {
			if possible(n) {
				return n
			}
		}
		return 0
	}
	least := max(1, len(q.Required))
	beyond := sort.Search(q.N-least, func(i int) bool { return !possible(least + i) })
	if beyond == 0 {
		return 0
	}
	return least + beyond - 1
}

// largestDomain returns the number of GPUs in the largest set that MetaXLink connects,
// directly or through others of the set. Not every domain has a ring over all of its GPUs.
func (p *Picker) largestDomain() int {
	largest := min(1, p.gpus) // a GPU without MetaXLink is in none
	for _, domain := range p.graph.Domains() {
		largest = max(largest, len(domain))
	}
	return largest
}

// maxSmaller limits how many smaller numbers are tried one by one.
const maxSmaller = 64

// try solves a question that may ask for more GPUs than are free, or fewer than are
// required.
func (p *Picker) try(q key.Question) (key.Solution, bool) {
	if q.N > len(q.Free) || q.N < len(q.Required) {
		return key.Solution{}, false
	}
	return p.nodeSolver().Solve(q)
}
