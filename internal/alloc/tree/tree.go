package tree

import (
	"slices"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// MaxGPUs is the greatest node that there is an answer for.
const MaxGPUs = 4096

// tree answers for graphs that nest, exactly: in one, the GPUs joined by a class
// or better are the domains of the hierarchy, a set fits the class if it is
// within one of them, and all that a policy weighs is a sum over the domains of
// what the numbers of chosen and of remaining GPUs in each make. So the best
// choice of each number of GPUs from a domain is made of the best choices from
// its parts.
type Solver struct {
	root       *hierarchy.Cluster
	jobs       func() *hierarchy.Cluster // the hierarchy as MTF sees it
	dendrogram *dendrogram

	mu     sync.Mutex
	memory *memory
}

// memory is what a tree keeps from one question for the next. The answers do not
// depend on it.
type memory struct {
	ranks   []link.Rank
	leaves  [numStates]*shape
	shapes  map[shapeKey]*shape
	layouts map[layoutKey]*layout
	views   []*view // the last one asked for first
	cost    int     // of shapes and curves, in words
}

// The memory is given up before a question if it holds more than maxCost words: a
// node of 1024 GPUs asked for 100 adds a few thousand for each GPU that changes.
// A question looks at a view for each class at most, and most at one or two.
const (
	maxCost   = 4 << 20
	maxViews  = 16
	shapeCost = 32
)

func New(root *hierarchy.Cluster) *Solver {
	return &Solver{root: root, jobs: sync.OnceValue(root.WithoutWeights), dendrogram: newDendrogram(root)}
}

func (t *Solver) newMemory() *memory {
	m := &memory{ranks: t.dendrogram.ranks, shapes: map[shapeKey]*shape{}, layouts: map[layoutKey]*layout{}}
	gpu := int32(len(m.ranks) - 1)
	m.leaves[stateFree] = &shape{shapeKey: shapeKey{rank: gpu, state: stateFree}, free: 1, hi: 1}
	m.leaves[stateRequired] = &shape{shapeKey: shapeKey{rank: gpu, state: stateRequired}, free: 1, lo: 1, hi: 1}
	m.leaves[stateExcluded] = &shape{shapeKey: shapeKey{rank: gpu, state: stateExcluded}, free: 1}
	return m
}

func (t *Solver) Solve(q key.Question) (key.Solution, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.memory == nil || t.memory.cost > maxCost {
		t.memory = t.newMemory()
	}
	return t.best(q)
}

// best is the best set for q; ok is false if there is none.
func (t *Solver) best(q key.Question) (best key.Solution, ok bool) {
	kinds := t.dendrogram.kinds
	lowest := flavor{floor: kinds[len(kinds)-1], scope: q.Scope, mtf: q.Policy == key.MTF}
	if q.Scope == key.Link {
		lowest.floor = topology.MX
	}
	fewest := -1 // jobs; it matters to MTF alone
	switch q.Policy.Objective() {
	case key.ObjectiveSpread, key.ObjectiveBinpack:
	case key.ObjectiveMTF:
		if best, ok = t.choose(q, lowest); !ok {
			return best, false
		}
		fewest = t.JobsLeft(q.Free, best.GPUs)
	default:
		return t.choose(q, lowest)
	}
	for _, c := range kinds {
		f := lowest
		f.floor = max(f.floor, c)
		if q.N > max(1, t.dendrogram.largest[f.floor]) {
			continue
		}
		best, ok = t.choose(q, f)
		if ok && (fewest < 0 || t.JobsLeft(q.Free, best.GPUs) == fewest) {
			break
		}
	}
	return best, ok
}

// choose is the best set for q that meets the demand, whatever its class; ok is
// false if there is none.
func (t *Solver) choose(q key.Question, f flavor) (best key.Solution, ok bool) {
	m := t.memory
	p := m.look(t.dendrogram, m.view(t.dendrogram, f), statesOf(q, len(t.dendrogram.leaf)))
	if q.N < p.lo || q.N > p.hi {
		return best, false
	}
	if f.mtf {
		p.pool = p.pool.shed()
	}
	c := m.grow(m.layout(layoutOf(q), t.dendrogram), p, m.ranks[p.rank], q.N, q.N)
	if c.rows&1 == 0 || c.words[0][c.at(0, q.N)] < hardly {
		return best, false
	}
	at := make([]int32, len(q.Free))
	for i, gpu := range q.Free {
		at[i] = int32(gpu)
	}
	e := c.at(0, q.N)
	best = key.Solution{GPUs: make([]int, 0, q.N), Class: c.joint(e, m.ranks), Method: "tree"}
	c.pick(e, at, func(gpu int32) { best.GPUs = append(best.GPUs, int(gpu)) })
	slices.Sort(best.GPUs)
	return best, true
}

// states are the states of so many GPUs.
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

// view is the view of a flavor, a new one if it was not looked at lately.
func (m *memory) view(d *dendrogram, f flavor) *view {
	i := slices.IndexFunc(m.views, func(v *view) bool { return v.flavor == f })
	if i < 0 {
		m.views = append(m.views[:min(len(m.views), maxViews-1)], d.view(f))
		i = len(m.views) - 1
	}
	v := m.views[i]
	copy(m.views[1:], m.views[:i])
	m.views[0] = v
	return v
}

func (m *memory) layout(k layoutKey, d *dendrogram) *layout {
	if m.layouts[k] == nil {
		m.layouts[k] = newLayout(k, d)
		m.cost += shapeCost
	}
	return m.layouts[k]
}
