package tree

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// state is what may be done with a GPU.
type state uint8

const (
	stateBusy state = iota
	stateFree
	stateRequired
	stateExcluded
	numStates
)

// shape is all that matters of a vertex and the states of its GPUs, but for
// which GPUs they are: the tree of those that are free, the busy ones left out.
// Vertices of one shape share a *shape, and so all that is worked out about it.
type shape struct {
	shapeKey
	free   int // how many GPUs are
	lo, hi int // how many of them can be chosen; none is possible if lo > hi
	curves []*curve
}

// shapeKey makes a shape. Its two halves are in the order of their first free
// GPUs; a GPU has none.
type shapeKey struct {
	left, right part
	rank        int32
	state       state // of a GPU
	across      bool  // the GPUs of a set may be in both halves
	// mix says, free GPU by free GPU, which half it is in: 0 or 1; empty if those
	// of the left half are all before those of the right.
	mix string
}

// part is a shape as a half of another.
type part struct {
	*shape
	pool pool
}

// pool says what becomes of the whole buddies in a shape, which MTF fills with
// jobs domain by domain, on the way up to the vertex whose half it is. Where MTF
// does not ask, they are kept.
type pool uint8

const (
	poolKept  pool = iota // they are of the same domain
	poolWhole             // the domain ends here, and is a buddy if all of its GPUs remain
	poolShed              // the domain ends here
	poolJob               // a buddy ends here, with the domain in which nothing else is free
)

// flavor is a demand on the sets, which decides about the shapes.
type flavor struct {
	floor topology.Kind // pairs of a set are of that class or better
	scope key.Scope
	mtf   bool // pools matter
}

// view is the vertices' shapes for the states asked about last.
type view struct {
	flavor
	states []state
	parts  []part // by vertex; the shape is nil if no GPU is free
	stale  []bool // by vertex
	across []bool // by rank, as in shapeKey
}

func (d *dendrogram) view(f flavor) *view {
	v := &view{
		flavor: f, states: make([]state, len(d.leaf)), parts: make([]part, len(d.vertices)),
		stale: make([]bool, len(d.vertices)), across: make([]bool, len(d.ranks)),
	}
	for i, r := range d.ranks {
		v.across[i] = r.Class >= f.floor && f.scope.Allows(r.Locality)
	}
	return v
}

// look brings the view up to date. It costs little where little has changed.
func (m *memory) look(d *dendrogram, v *view, states []state) part {
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
			v.parts[at] = m.part(d, v, &d.vertices[at])
			v.stale[at] = false
		}
	}
	return v.parts[len(v.parts)-1]
}

// part works out a vertex whose halves are up to date.
func (m *memory) part(d *dendrogram, v *view, x *vertex) part {
	if x.left < 0 {
		s := v.states[x.gpu]
		if s == stateBusy {
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
		if v.mtf && x.domain {
			p.pool = p.pool.shed()
		}
		return p
	}
	key := shapeKey{left: p, right: other, rank: x.rank, across: v.across[x.rank]}
	if x.mixed != nil {
		key.arrange(x.mixed, v.states)
	}
	p = part{shape: m.shape(key)}
	switch {
	case !v.mtf || !x.domain:
	case x.buddy && p.free == int(x.size):
		p.pool = poolWhole
	default:
		p.pool = poolShed
	}
	return p
}

// arrange orders the halves and says how their free GPUs mix.
func (k *shapeKey) arrange(gpus []halved, states []state) {
	mix := make([]byte, 0, k.left.free+k.right.free)
	changes, swap := 0, false
	for _, h := range gpus {
		if states[h.gpu] == stateBusy {
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
		k.mix = string(mix)
	}
}

// shape returns the one shape of that key.
func (m *memory) shape(key shapeKey) *shape {
	if s := m.shapes[key]; s != nil {
		return s
	}
	l, r := key.left, key.right
	s := &shape{shapeKey: key, free: l.free + r.free, lo: l.lo + r.lo}
	switch {
	case l.lo > l.hi || r.lo > r.hi || !key.across && l.lo > 0 && r.lo > 0:
		s.lo, s.hi = 1, 0
	case key.across:
		s.hi = l.hi + r.hi
	case l.lo > 0:
		s.hi = l.hi
	case r.lo > 0:
		s.hi = r.hi
	default:
		s.hi = max(l.hi, r.hi)
	}
	m.shapes[key] = s
	m.cost += shapeCost + len(key.mix)/8
	return s
}

// shed is the pool of a domain that ends with nothing free but this part.
func (p pool) shed() pool {
	if p == poolWhole || p == poolJob {
		return poolJob
	}
	return poolShed
}
