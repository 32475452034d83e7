// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/table"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Picker answers Requests about one node. It is safe for concurrent use.
type Picker struct {
	gpus  int
	graph *link.Graph
	table *table.Solver // nil for a node of more than table.MaxGPUs GPUs
	large *large        // nil for a node of up to table.MaxComplete GPUs
}

// New returns a Picker for the graph, which must not change any more. New is fast: what a
// solver prepares, it prepares at the first Pick.
func New(g *topology.Graph) *Picker {
	return newPicker(link.ByClass(g))
}

// NewWeighted is New with links weighed by w. The error is an *ArgumentError: w is not one
// of the Weights, or a bandwidth is not a valid number.
func NewWeighted(g *topology.Graph, w link.Weights) (*Picker, error) {
	s, err := link.New(g, w)
	if err != nil {
		return nil, &ArgumentError{Reason: err.Error()}
	}
	return newPicker(s), nil
}

// NewPublished is New with links weighed as in the tables that MetaX's device plugin
// publishes.
func NewPublished(g *topology.Graph) *Picker {
	return newPicker(link.ByPublishedClass(g))
}

func newPicker(g *link.Graph) *Picker {
	p := &Picker{gpus: g.Len(), graph: g}
	if p.gpus <= table.MaxGPUs {
		p.table = table.New(g)
	}
	if p.gpus > table.MaxComplete && p.gpus <= tree.MaxGPUs {
		p.large = newLarge(g)
	}
	return p
}

// Pick returns the best set of GPUs for the request. An error is an *ArgumentError, a
// *TooLargeError or, with errors.Is(err, ErrUnmet), one that says why no set of the free
// GPUs meets the request, and names the best alternative if there is one.
func (p *Picker) Pick(r Request) (Answer, error) {
	q, err := r.toQuestion(p.gpus)
	if err != nil {
		return Answer{}, err
	}
	if p.nodeSolver() == nil {
		return Answer{}, &TooLargeError{GPUs: p.gpus, Max: tree.MaxGPUs}
	}
	if gpus := notFree(q); len(gpus) > 0 {
		return Answer{}, p.requiredError(q, gpus)
	}
	if q.N > len(q.Free) {
		return Answer{}, &InsufficientError{Need: q.N, Free: len(q.Free), Of: p.gpus}
	}
	usual := slices.Contains(recommended, q.N)
	if !usual && r.Sizes == Enforce {
		return Answer{}, p.sizeError(q, r.SizesOrigin)
	}
	s, ok := p.nodeSolver().Solve(q)
	if !ok {
		if s, err = p.withoutScope(q, s.Bounded); err != nil {
			return Answer{}, err
		}
	}
	a := Answer{GPUs: s.GPUs, Policy: q.Policy, Class: s.Class, Exact: !s.Bounded, Method: s.Method}
	if !a.Exact {
		a.Warnings = append(a.Warnings, unproven)
	}
	if r.Explain {
		a.Explanation = p.explainChoice(q, s)
	}
	if !usual && r.Sizes == Warn {
		a.Warnings = append(a.Warnings, fmt.Sprintf("%s requested; MetaX recommends 1, 2, 4 or 8", wording.Count(q.N, "GPU")))
	}
	return a, nil
}

// unproven is the warning about an answer that is not exact.
const unproven = "these may not be the best GPUs: the links of this node do not nest"
