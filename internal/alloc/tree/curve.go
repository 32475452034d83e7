// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"math/bits"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// curve has the best set of a shape for each number of GPUs from lo to hi, in entries. The
// entries are in rows, one row for each size that the pool of a set can have, modulo 8;
// under other policies than MTF that is 0.
type curve struct {
	of     *shape
	lo, hi int
	rows   uint8 // bit p: there is a row for pools of size p
	row    [8]int
	words  [][]int64 // by word and entry
	// The set of an entry is the union of the set of entry left of curve l and that of
	// entry right of curve r. A GPU has no halves: its entry for 1 is the GPU.
	l, r        *curve
	left, right []int32
	// sorted are the entries that have a set, in the order of the sets: the set with the
	// first GPU that only one of two sets has comes first. order is the place of each
	// entry in sorted.
	sorted, order []int32
	gaps          [][]int32 // where sets differ, as findGaps says; nil if not computed yet

	layout *layout
	out    link.Rank
	pool   poolRule
}

// emptyCurve returns a curve without sets.
func emptyCurve(s *shape, ly *layout, lo, hi int, rows uint8) *curve {
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
		c.words[0][e] = noSet
	}
	places := make([]int32, 3*entries)
	c.left, c.right, c.order = places[:entries], places[entries:2*entries], places[2*entries:]
	return c
}

// entryAt returns the entry for s GPUs and pool p, which has a row.
func (c *curve) entryAt(p, s int) int { return c.row[p] + s }

// chosenCount returns the number of GPUs of an entry.
func (c *curve) chosenCount(e int) int { return c.lo + e%(c.hi-c.lo+1) }

// poolOf returns the size of the pool of an entry.
func (c *curve) poolOf(e int) int {
	p := 0
	for ; c.rows>>p&1 == 0 || e-c.row[p] > c.hi; p++ {
	}
	return p
}

// curve returns the curve of a part that rank out joins with the other half, for up to
// most GPUs, or as many as can be chosen.
func (m *memory) curve(ly *layout, p part, out link.Rank, most int) *curve {
	if p.left.shape == nil {
		out = link.Rank{} // a single GPU has no pairs
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
	c := m.newCurve(ly, p, out, p.lo, hi)
	p.curves = append(p.curves, c)
	m.cost += len(c.order) * (len(c.words) + 2)
	if p.halves != "" { // the gaps
		m.cost += len(c.order) * bits.Len(uint(len(c.order)))
	}
	return c
}

// newCurve computes a curve for from to to GPUs.
func (m *memory) newCurve(ly *layout, p part, out link.Rank, from, to int) *curve {
	var c *curve
	in := m.ranks[p.rank]
	if p.left.shape == nil {
		c = leafCurve(p.shape, ly, from, to)
	} else {
		l, r := m.curve(ly, p.left, in, to), m.curve(ly, p.right, in, to)
		c = mergeCurves(p.shape, ly, l, r, from, to)
	}
	if in != out {
		ly.changeJoinRank(in, out, p.free, func(word int, value func(s int) int64) {
			for e, first := range c.words[0] {
				if first > leastSet {
					c.words[word][e] += value(c.chosenCount(e))
				}
			}
		})
	}
	if p.pool != poolKept {
		c = c.endPool(p.pool)
	}
	c.out, c.pool = out, p.pool
	return c
}

// leafCurve returns the curve of a GPU.
func leafCurve(s *shape, ly *layout, from, to int) *curve {
	rows := uint8(1)
	if ly.job != 0 {
		rows = 3
	}
	c := emptyCurve(s, ly, from, to, rows)
	var entries []int32
	for n := to; n >= from; n-- {
		p := 0
		if ly.job != 0 {
			p = 1 - n
		}
		e := c.entryAt(p, n)
		c.words[0][e] = 0
		entries = append(entries, int32(e))
	}
	c.setOrder(entries)
	return c
}

// endPool ends the pool of each set: its GPUs become jobs. If all GPUs of a buddy remain,
// they become one buddy instead, whatever jobs would fill its parts.
func (c *curve) endPool(how poolRule) *curve {
	rows, intact := uint8(1), how == poolWhole && c.lo == 0
	size := c.of.free
	if intact {
		rows |= 1 << (size % hierarchy.MaxBuddy)
	}
	d := emptyCurve(c.of, c.layout, c.lo, c.hi, rows)
	d.l, d.r = c.l, c.r
	source := make([]int32, len(d.order))
	place := func(from int) (to int, first int64) {
		p, s := c.poolOf(from), c.chosenCount(from)
		if s == 0 && how == poolLone && c.lo == 0 {
			return d.entryAt(0, 0), -int64(hierarchy.FewestJobs(size)) * c.layout.job
		}
		if s == 0 && intact { // for a set without GPUs, only the jobs count
			return d.entryAt(size%hierarchy.MaxBuddy, 0), -int64(size/hierarchy.MaxBuddy) * c.layout.job
		}
		return d.entryAt(0, s), c.words[0][from] - int64(hierarchy.FewestJobs(p))*c.layout.job
	}
	for _, e := range c.sorted {
		from := int(e)
		to, first := place(from)
		if d.words[0][to] > leastSet && d.compare(to, c, from, first) >= 0 {
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
	d.setOrder(entries)
	return d
}

// compare compares the value of entry e with that of entry of of another curve, with first
// in place of its first word.
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

// visitGPUs calls visit with each GPU of an entry's set; at are the free GPUs of the shape.
func (c *curve) visitGPUs(e int, at []int32, visit func(gpu int32)) {
	s := c.chosenCount(e)
	switch {
	case s == 0: // no GPU of this part
	case c.l == nil:
		visit(at[0])
	default:
		left, right := c.of.splitHalves(at)
		c.l.visitGPUs(int(c.left[e]), left, visit)
		c.r.visitGPUs(int(c.right[e]), right, visit)
	}
}

// classOf returns the class of an entry's set: that of the first vertex from the top that
// has GPUs of the set in both halves.
func (c *curve) classOf(e int, ranks []link.Rank) topology.Kind {
	for c.l != nil {
		left, right := int(c.left[e]), int(c.right[e])
		switch {
		case c.l.chosenCount(left) == 0:
			c, e = c.r, right
		case c.r.chosenCount(right) == 0:
			c, e = c.l, left
		default:
			return ranks[c.of.rank].Class
		}
	}
	return topology.MX
}

// splitHalves divides a list that has an item for each free GPU of a shape into those of the
// halves.
func (s *shape) splitHalves(at []int32) (left, right []int32) {
	if s.halves == "" {
		return at[:s.left.free], at[s.left.free:]
	}
	both := make([]int32, len(at))
	halves := [2][]int32{both[:0:s.left.free], both[s.left.free:s.left.free]}
	for i, gpu := range at {
		h := &halves[s.halves[i]]
		*h = append(*h, gpu)
	}
	return halves[0], halves[1]
}
