// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// state is what may be done with a GPU.
type state uint8

const (
	stateInUse state = iota
	stateFree
	stateRequired
	stateExcluded
	numStates
)

// shape is what matters of a vertex and the states of its GPUs: the tree of the free
// ones, without their numbers. Equal vertices share a *shape.
type shape struct {
	shapeKey
	free   int // number of free GPUs
	lo, hi int // how many of them can be chosen; no set is possible if lo > hi
	curves []*curve
}

// shapeKey identifies a shape. The half with the first free GPU is the left one; a GPU has
// no halves.
type shapeKey struct {
	left, right part
	rank        int32
	state       state // of a GPU
	across      bool  // a set may have GPUs in both halves
	// halves has, for each free GPU, the half that it is in, 0 or 1; it is empty if those
	// of the left half all come before those of the right.
	halves string
}

// part is a shape as a half of another one.
type part struct {
	*shape
	pool poolRule
}

// poolRule says what becomes of the pools of a shape's sets on the way up to the vertex whose
// half it is. Under other policies than MTF, pools are kept.
type poolRule uint8

const (
	poolKept  poolRule = iota // the same cluster goes on
	poolWhole                 // the cluster ends here, and is a buddy if all of its GPUs remain
	poolEnded                 // the cluster ends here
	poolLone                  // a buddy ends here, and so does the cluster, in which no other GPU is free
)

// demand is what all pairs of a set must meet. Shapes depend on it.
type demand struct {
	floor topology.Kind // pairs of a set are of that class or better
	scope key.Scope
	mtf   bool // pools count
}

// view has the vertices' shapes for the states of the last question.
type view struct {
	demand
	states []state
	parts  []part // by vertex; the shape is nil if no GPU is free
	stale  []bool // by vertex: a GPU of it changed
	across []bool // by rank, as in shapeKey
}

// newView returns a view in which all GPUs are in use.
func (d *dendrogram) newView(f demand) *view {
	v := &view{
		demand: f, states: make([]state, len(d.leaf)), parts: make([]part, len(d.vertices)),
		stale: make([]bool, len(d.vertices)), across: make([]bool, len(d.ranks)),
	}
	for i, r := range d.ranks {
		v.across[i] = r.Class >= f.floor && f.scope.Allows(r.Locality)
	}
	return v
}

// updateView brings the view up to date and returns the part of the root. It costs little if
// little has changed.
func (m *memory) updateView(d *dendrogram, v *view, states []state) part {
	for gpu, s := range states {
		if v.states[gpu] == s {
			continue
		}
		v.states[gpu] = s
		for at := d.leaf[gpu]; at >= 0 && !v.stale[at]; at = d.vertices[at].parent {
			v.stale[at] = true
		}
	}
	for at, stale := range v.stale {
		if stale {
			v.parts[at] = m.part(v, &d.vertices[at])
			v.stale[at] = false
		}
	}
	return v.parts[len(v.parts)-1]
}

// part returns the shape of a vertex whose halves are up to date.
func (m *memory) part(v *view, x *vertex) part {
	if x.left < 0 {
		s := v.states[x.gpu]
		if s == stateInUse {
			return part{}
		}
		p := part{shape: m.leaves[s]}
		if v.mtf {
			p.pool = poolWhole
		}
		return p
	}
	p, other := v.parts[x.left], v.parts[x.right]
	switch {
	case p.shape == nil:
		p = other
		fallthrough
	case other.shape == nil:
		if v.mtf && x.cluster {
			p.pool = p.pool.atClusterEnd()
		}
		return p
	}
	wanted := shapeKey{left: p, right: other, rank: x.rank, across: v.across[x.rank]}
	if x.interleaved != nil {
		wanted.orderHalves(x.interleaved, v.states)
	}
	p = part{shape: m.shape(wanted)}
	switch {
	case !v.mtf || !x.cluster: // only MTF counts blocks
	case x.buddy && p.free == int(x.size):
		p.pool = poolWhole
	default:
		p.pool = poolEnded
	}
	return p
}

// orderHalves puts the half with the first free GPU first, and fills in halves.
func (k *shapeKey) orderHalves(gpus []halfGPU, states []state) {
	mix := make([]byte, 0, k.left.free+k.right.free)
	changes, swap := 0, false
	for _, h := range gpus {
		if states[h.gpu] == stateInUse {
			continue
		}
		var b byte
		if len(mix) == 0 {
			swap = h.right
		}
		if h.right != swap {
			b = 1
		}
		if len(mix) > 0 && mix[len(mix)-1] != b {
			changes++
		}
		mix = append(mix, b)
	}
	if swap {
		k.left, k.right = k.right, k.left
	}
	if changes > 1 {
		k.halves = string(mix)
	}
}

// shape returns the shape of a key, the same one each time.
func (m *memory) shape(wanted shapeKey) *shape {
	if s := m.shapes[wanted]; s != nil {
		return s
	}
	l, r := wanted.left, wanted.right
	s := &shape{shapeKey: wanted, free: l.free + r.free, lo: l.lo + r.lo}
	switch {
	case l.lo > l.hi || r.lo > r.hi || (!wanted.across && l.lo > 0 && r.lo > 0):
		s.lo, s.hi = 1, 0
	case wanted.across:
		s.hi = l.hi + r.hi
	case l.lo > 0:
		s.hi = l.hi
	case r.lo > 0:
		s.hi = r.hi
	default:
		s.hi = max(l.hi, r.hi)
	}
	m.shapes[wanted] = s
	m.cost += shapeCost + len(wanted.halves)/8
	return s
}

// atClusterEnd returns the rule for a part with which its cluster ends, because no other GPU
// of the cluster is free.
func (p poolRule) atClusterEnd() poolRule {
	if p == poolWhole || p == poolLone {
		return poolLone
	}
	return poolEnded
}
