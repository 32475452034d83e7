package tree

import (
	"cmp"
	"math/bits"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// curve is the best there is in a shape for each number of GPUs chosen, from lo
// to hi. Its entries are in rows, one for each state of the sets: what a policy
// must know of a set besides its value, 0 to 7. That is for MTF the size of the
// pool of whole buddies, without the eights, and 0 for all others.
type curve struct {
	of     *shape
	lo, hi int
	rows   uint8 // bit p: there is a row for state p
	row    [8]int
	words  [][]int64 // by word and entry
	// The set of an entry is that of an entry of l with that of an entry of r. A
	// GPU's entry has the GPU if it is for 1.
	l, r        *curve
	left, right []int32
	// sorted are the entries that have a set, in the order of the sets: of two, the
	// one comes first that has the first GPU that only one of them has. order is
	// the place of an entry in it.
	sorted, order []int32
	gaps          [][]int32 // where sets differ, as measure says; nil if not known yet

	layout *layout
	out    link.Rank
	pool   pool
}

func newCurve(s *shape, ly *layout, lo, hi int, rows uint8) *curve {
	c := &curve{of: s, layout: ly, lo: lo, hi: hi, rows: rows}
	entries := 0
	for p := range 8 {
		c.row[p] = entries - lo
		if rows>>p&1 == 1 {
			entries += hi - lo + 1
		}
	}
	words := make([]int64, ly.words*entries)
	for w := range ly.words {
		c.words = append(c.words, words[w*entries:(w+1)*entries])
	}
	for e := range c.words[0] {
		c.words[0][e] = nothing
	}
	places := make([]int32, 3*entries)
	c.left, c.right, c.order = places[:entries], places[entries:2*entries], places[2*entries:]
	return c
}

// at is the entry for s GPUs in state p, of which there is a row.
func (c *curve) at(p, s int) int { return c.row[p] + s }

// chosen is the number of GPUs of an entry.
func (c *curve) chosen(e int) int { return c.lo + e%(c.hi-c.lo+1) }

// stateOf is the state of an entry.
func (c *curve) stateOf(e int) int {
	p := 0
	for ; c.rows>>p&1 == 0 || e-c.row[p] > c.hi; p++ {
	}
	return p
}

// curve returns the curve of a part that is joined with others by rank out, for
// at least as many GPUs as can be chosen or most.
func (m *memory) curve(ly *layout, p part, out link.Rank, most int) *curve {
	if p.left.shape == nil {
		out = link.Rank{} // a GPU has no pairs: all is the same to it
	}
	hi := min(p.hi, most)
	for i, c := range p.curves {
		if c.layout != ly || c.out != out || c.pool != p.pool {
			continue
		}
		if c.hi >= hi {
			return c
		}
		p.curves = append(p.curves[:i], p.curves[i+1:]...)
		break
	}
	c := m.grow(ly, p, out, p.lo, hi)
	p.curves = append(p.curves, c)
	m.cost += len(c.order) * (len(c.words) + 2)
	if p.mix != "" { // what two curves are measured by
		m.cost += len(c.order) * bits.Len(uint(len(c.order)))
	}
	return c
}

// grow works a curve out for from to to GPUs.
func (m *memory) grow(ly *layout, p part, out link.Rank, from, to int) *curve {
	var c *curve
	in := m.ranks[p.rank]
	if p.left.shape == nil {
		c = leafCurve(p.shape, ly, from, to)
	} else {
		l, r := m.curve(ly, p.left, in, to), m.curve(ly, p.right, in, to)
		c = merge(p.shape, ly, l, r, from, to)
	}
	if in != out {
		ly.settle(in, out, p.free, func(word int, value func(s int) int64) {
			for e, first := range c.words[0] {
				if first > hardly {
					c.words[word][e] += value(c.chosen(e))
				}
			}
		})
	}
	if p.pool != poolKept {
		c = c.drain(p.pool)
	}
	c.out, c.pool = out, p.pool
	return c
}

// leafCurve is the curve of a GPU.
func leafCurve(s *shape, ly *layout, from, to int) *curve {
	rows := uint8(1)
	if ly.job != 0 {
		rows = 3
	}
	c := newCurve(s, ly, from, to, rows)
	var entries []int32
	for n := to; n >= from; n-- {
		p := 0
		if ly.job != 0 {
			p = 1 - n
		}
		e := c.at(p, n)
		c.words[0][e] = 0
		entries = append(entries, int32(e))
	}
	c.number(entries)
	return c
}

// drain fills the pool with jobs. Only where all GPUs of a whole buddy remain are
// they taken as they are, whatever jobs would fill its parts.
func (c *curve) drain(how pool) *curve {
	rows, intact := uint8(1), how == poolWhole && c.lo == 0
	size := c.of.free
	if intact {
		rows |= 1 << (size % hierarchy.MaxBuddy)
	}
	d := newCurve(c.of, c.layout, c.lo, c.hi, rows)
	d.l, d.r = c.l, c.r
	source := make([]int32, len(d.order))
	place := func(from int) (to int, first int64) {
		p, s := c.stateOf(from), c.chosen(from)
		if s == 0 && how == poolJob && c.lo == 0 {
			return d.at(0, 0), -int64(hierarchy.FewestJobs(size)) * c.layout.job
		}
		if s == 0 && intact { // of a set without GPUs, nothing but the jobs counts
			return d.at(size%hierarchy.MaxBuddy, 0), -int64(size/hierarchy.MaxBuddy) * c.layout.job
		}
		return d.at(0, s), c.words[0][from] - int64(hierarchy.FewestJobs(p))*c.layout.job
	}
	for _, e := range c.sorted {
		from := int(e)
		to, first := place(from)
		if d.words[0][to] > hardly && d.compare(to, c, from, first) >= 0 {
			continue
		}
		source[to], d.left[to], d.right[to] = e, c.left[from], c.right[from]
		for w := range d.words {
			d.words[w][to] = c.words[w][from]
		}
		d.words[0][to] = first
	}
	entries := make([]int32, 0, len(c.sorted))
	for _, e := range c.sorted {
		if to, _ := place(int(e)); source[to] == e {
			entries = append(entries, int32(to))
		}
	}
	d.number(entries)
	return d
}

// compare compares the value of entry e with that of c's entry of, if its first
// word were first.
func (c *curve) compare(e int, other *curve, of int, first int64) int {
	if by := cmp.Compare(c.words[0][e], first); by != 0 {
		return by
	}
	for w := 1; w < len(c.words); w++ {
		if by := cmp.Compare(c.words[w][e], other.words[w][of]); by != 0 {
			return by
		}
	}
	return 0
}

// pick calls visit with each GPU of an entry's set; at are the free GPUs of the
// shape.
func (c *curve) pick(e int, at []int32, visit func(gpu int32)) {
	switch s := c.chosen(e); {
	case s == 0:
	case c.l == nil:
		visit(at[0])
	default:
		left, right := c.of.split(at)
		c.l.pick(int(c.left[e]), left, visit)
		c.r.pick(int(c.right[e]), right, visit)
	}
}

// joint is the class of an entry's set: that of the first vertex from the top
// that has some of its GPUs in both halves.
func (c *curve) joint(e int, ranks []link.Rank) topology.Kind {
	for c.l != nil {
		left, right := int(c.left[e]), int(c.right[e])
		switch {
		case c.l.chosen(left) == 0:
			c, e = c.r, right
		case c.r.chosen(right) == 0:
			c, e = c.l, left
		default:
			return ranks[c.of.rank].Class
		}
	}
	return topology.MX
}

// split divides what stands for the free GPUs of a shape into the halves'.
func (s *shape) split(at []int32) (left, right []int32) {
	if s.mix == "" {
		return at[:s.left.free], at[s.left.free:]
	}
	both := make([]int32, len(at))
	halves := [2][]int32{both[:0:s.left.free], both[s.left.free:s.left.free]}
	for i, gpu := range at {
		h := &halves[s.mix[i]]
		*h = append(*h, gpu)
	}
	return halves[0], halves[1]
}
