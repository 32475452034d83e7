// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"math/bits"
	"slices"
)

// sortByHalves puts the entries in order if the left half has the lower GPU numbers: by the
// order of the left sets and, if these are the same, of the right ones.
func (c *curve) sortByHalves() {
	entries := sortBy(c.entries(), len(c.r.sorted), func(e int32) int32 { return c.r.order[c.right[e]] })
	entries = sortBy(entries, len(c.l.sorted), func(e int32) int32 { return c.l.order[c.left[e]] })
	c.setOrder(entries)
}

// entries returns those that have a set.
func (c *curve) entries() []int32 {
	entries := make([]int32, 0, len(c.order))
	for e, first := range c.words[0] {
		if first > leastSet {
			entries = append(entries, int32(e))
		}
	}
	return entries
}

// setOrder records the entries in their order.
func (c *curve) setOrder(entries []int32) {
	c.sorted = entries
	for place, e := range entries {
		c.order[e] = int32(place)
	}
}

// sortBy sorts entries by a number below keys, and keeps the order of entries with the same
// number (counting sort).
func sortBy(entries []int32, keys int, key func(int32) int32) []int32 {
	start := make([]int32, keys+1)
	for _, e := range entries {
		start[key(e)+1]++
	}
	for k := range keys {
		start[k+1] += start[k]
	}
	sorted := make([]int32, len(entries))
	for _, e := range entries {
		k := key(e)
		sorted[start[k]] = e
		start[k]++
	}
	return sorted
}

// beyondAll is a place after that of every GPU.
const beyondAll = MaxGPUs

// interleaver compares sets of a shape whose halves have interleaved GPU numbers.
type interleaver struct {
	*curve
	left, right []int32 // the places of the halves' free GPUs among the shape's
}

func newInterleaver(c *curve) *interleaver {
	places := make([]int32, c.of.free)
	for i := range places {
		places[i] = int32(i)
	}
	m := &interleaver{curve: c}
	m.left, m.right = c.of.splitHalves(places)
	return m
}

// compareSets returns a negative number if the set of entries a of the left half and b of the
// right comes before that of i and j.
func (m *interleaver) compareSets(a, b, i, j int32) int {
	left, right := m.differ(a, b, i, j)
	if left < right {
		return int(m.l.order[a] - m.l.order[i])
	}
	return int(m.r.order[b] - m.r.order[j])
}

// differ returns the first place where the sets differ in the left half, and the first in
// the right; beyondAll if they do not differ there.
func (m *interleaver) differ(a, b, i, j int32) (left, right int32) {
	left, right = beyondAll, beyondAll
	if a != i {
		left = m.left[m.l.firstDifference(a, i)]
	}
	if b != j {
		right = m.right[m.r.firstDifference(b, j)]
	}
	return left, right
}

// sortInterleaved puts the curve's entries in order.
func (m *interleaver) sortInterleaved() {
	entries := m.entries()
	slices.SortFunc(entries, func(x, y int32) int {
		return m.compareSets(m.curve.left[x], m.curve.right[x], m.curve.left[y], m.curve.right[y])
	})
	m.setOrder(entries)
}

// firstDifference returns the first free GPU of the shape, by its place among them, that
// only one of two different entries has. In the order of the sets, that is the first one
// in which any two neighbours between the two differ.
func (c *curve) firstDifference(x, y int32) int32 {
	if c.gaps == nil {
		c.findGaps()
	}
	from, to := c.order[x], c.order[y]
	if from > to {
		from, to = to, from
	}
	level := bits.Len32(uint32(to-from)) - 1
	row := c.gaps[level]
	return min(row[from], row[to-1<<level])
}

// findGaps fills in gaps: gaps[level][k] is the first place where any of the sets from
// the k-th to the one 1<<level later differ.
func (c *curve) findGaps() {
	gaps := make([]int32, max(len(c.sorted)-1, 0))
	if c.l != nil {
		m := newInterleaver(c)
		for k := range gaps {
			x, y := c.sorted[k], c.sorted[k+1]
			left, right := m.differ(c.left[x], c.right[x], c.left[y], c.right[y])
			gaps[k] = min(left, right)
		}
	}
	c.gaps = [][]int32{gaps}
	for step := 1; 2*step <= len(gaps); step *= 2 {
		last := c.gaps[len(c.gaps)-1]
		next := make([]int32, len(gaps)-2*step+1)
		for k := range next {
			next[k] = min(last[k], last[k+step])
		}
		c.gaps = append(c.gaps, next)
	}
}
