// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
)

// Solver answers questions about one node. It builds the table when it first needs it.
// It is safe for concurrent use.
type Solver struct{ load func() *table }

// New returns the Solver of a node of at most MaxGPUs GPUs.
func New(g *link.Graph) *Solver {
	return &Solver{sync.OnceValue(func() *table { return buildTable(g) })}
}

// query is a question as sets.
type query struct {
	policy                   key.Policy
	scope                    key.Scope
	free, required, excluded set
	n                        int
}

func queryOf(q key.Question) query {
	return query{
		policy: q.Policy, scope: q.Scope, n: q.N,
		free: setOf(q.Free), required: setOf(q.Required), excluded: setOf(q.Excluded),
	}
}

// Solve returns the best set; ok is false if no set meets the question.
func (s *Solver) Solve(q key.Question) (solution key.Solution, ok bool) {
	t := s.load()
	best := t.bestSet(queryOf(q))
	if best == 0 {
		return key.Solution{}, false
	}
	return key.Solution{GPUs: best.gpus(), Class: t.rows[best].class, Method: "table"}, true
}

// Figures returns the components of a set of the free GPUs.
func (s *Solver) Figures(q key.Question, gpus []int) key.Candidate {
	t := s.load()
	free, x := setOf(q.Free), setOf(gpus)
	row, rest := t.rows[x], free&^x
	c := key.Candidate{
		GPUs: gpus, Class: row.class, Capability: t.capabilityCounts(x), Weight: int(row.weight),
		Rest: t.capabilityCounts(rest), Cut: int(t.cutWeight(x, rest)), Locality: int(row.locality),
	}
	switch q.Policy.Objective() {
	case key.ObjectiveWeighted:
		c.Score = float64(q.Policy.Score(int64(c.Weight), int64(c.Cut))) / 1000
	case key.ObjectiveMTF:
		jobs := t.jobs()
		c.Jobs = int(jobs[rest]) - int(jobs[free])
	case key.ObjectiveSpread, key.ObjectiveBinpack, key.ObjectiveFirst, key.ObjectiveHeaviest: // have neither
	}
	return c
}
