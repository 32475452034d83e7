// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// MaxGPUs is the size of the largest node that is supported.
const MaxGPUs = 4096

// Solver answers questions about one node. It is safe for concurrent use.
type Solver struct {
	root       *hierarchy.Cluster
	unweighted func() *hierarchy.Cluster // as MTF needs it: weighed by class
	dendrogram *dendrogram

	mu     sync.Mutex
	memory *memory
}

// memory is what a Solver keeps from one question for the next. Answers do not depend on
// it.
type memory struct {
	ranks   []link.Rank
	leaves  [numStates]*shape
	shapes  map[shapeKey]*shape
	layouts map[layoutKey]*layout
	views   []*view // the last used first
	cost    int     // of shapes and curves, in words
}

// The memory is dropped before a question if it has more than maxCost words. A pick of
// 100 GPUs on a node of 1024 adds a few thousand words for each GPU that changes. A
// question uses one view for each class at most, and usually one or two.
const (
	maxCost   = 4 << 20
	maxViews  = 16
	shapeCost = 32
)

// New returns the Solver of a node that nests.
func New(root *hierarchy.Cluster) *Solver {
	return &Solver{root: root, unweighted: sync.OnceValue(root.WithoutWeights), dendrogram: newDendrogram(root)}
}

func (t *Solver) newMemory() *memory {
	m := &memory{ranks: t.dendrogram.ranks, shapes: map[shapeKey]*shape{}, layouts: map[layoutKey]*layout{}}
	gpu := int32(len(m.ranks) - 1)
	m.leaves[stateFree] = &shape{shapeKey: shapeKey{rank: gpu, state: stateFree}, free: 1, hi: 1}
	m.leaves[stateRequired] = &shape{shapeKey: shapeKey{rank: gpu, state: stateRequired}, free: 1, lo: 1, hi: 1}
	m.leaves[stateExcluded] = &shape{shapeKey: shapeKey{rank: gpu, state: stateExcluded}, free: 1}
	return m
}

// Solve returns the best set; ok is false if no set meets the question.
func (t *Solver) Solve(q key.Question) (key.Solution, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.memory == nil || t.memory.cost > maxCost {
		t.memory = t.newMemory()
	}
	return t.best(q)
}

// best returns the best set: that of the best class that any set has. MTF compares the
// number of jobs first, so it takes the best class with which the jobs are fewest.
func (t *Solver) best(q key.Question) (best key.Solution, ok bool) {
	classes := t.dendrogram.classes
	lowest := demand{floor: classes[len(classes)-1], scope: q.Scope, mtf: q.Policy == key.MTF}
	if q.Scope == key.Link {
		lowest.floor = topology.MX
	}
	fewest := -1 // jobs, of MTF
	switch q.Policy.Objective() {
	case key.ObjectiveSpread, key.ObjectiveBinpack: // they do not count jobs
	case key.ObjectiveMTF:
		if best, ok = t.bestMeeting(q, lowest); !ok {
			return best, false
		}
		fewest = t.JobsLeft(q.Free, best.GPUs)
	default:
		return t.bestMeeting(q, lowest)
	}
	for _, c := range classes {
		f := lowest
		f.floor = max(f.floor, c)
		if q.N > max(1, t.dendrogram.largest[f.floor]) {
			continue
		}
		best, ok = t.bestMeeting(q, f)
		if ok && (fewest < 0 || t.JobsLeft(q.Free, best.GPUs) == fewest) {
			break
		}
	}
	return best, ok
}

// bestMeeting returns the best set that meets the demand, whatever its class; ok is false
// if no set does.
func (t *Solver) bestMeeting(q key.Question, f demand) (best key.Solution, ok bool) {
	m := t.memory
	p := m.updateView(t.dendrogram, m.view(t.dendrogram, f), statesOf(q, len(t.dendrogram.leaf)))
	if q.N < p.lo || q.N > p.hi {
		return best, false
	}
	if f.mtf {
		p.pool = p.pool.atClusterEnd()
	}
	c := m.newCurve(m.layout(layoutOf(q), t.dendrogram), p, m.ranks[p.rank], q.N, q.N)
	if c.rows&1 == 0 || c.words[0][c.entryAt(0, q.N)] < leastSet {
		return best, false
	}
	at := make([]int32, len(q.Free))
	for i, gpu := range q.Free {
		at[i] = int32(gpu)
	}
	e := c.entryAt(0, q.N)
	best = key.Solution{GPUs: make([]int, 0, q.N), Class: c.classOf(e, m.ranks), Method: "tree"}
	c.visitGPUs(e, at, func(gpu int32) { best.GPUs = append(best.GPUs, int(gpu)) })
	slices.Sort(best.GPUs)
	return best, true
}

// statesOf returns the state of each of so many GPUs.
func statesOf(q key.Question, gpus int) []state {
	states := make([]state, gpus)
	for _, g := range q.Free {
		states[g] = stateFree
	}
	for _, g := range q.Required {
		states[g] = stateRequired
	}
	for _, g := range q.Excluded {
		states[g] = stateExcluded
	}
	return states
}

// view returns the view of a demand, a new one if it was not used lately.
func (m *memory) view(d *dendrogram, f demand) *view {
	i := slices.IndexFunc(m.views, func(v *view) bool { return v.demand == f })
	if i < 0 {
		m.views = append(m.views[:min(len(m.views), maxViews-1)], d.newView(f))
		i = len(m.views) - 1
	}
	v := m.views[i]
	copy(m.views[1:], m.views[:i])
	m.views[0] = v
	return v
}

// layout returns the layout of a key.
func (m *memory) layout(k layoutKey, d *dendrogram) *layout {
	if m.layouts[k] == nil {
		m.layouts[k] = newLayout(k, d)
		m.cost += shapeCost
	}
	return m.layouts[k]
}
