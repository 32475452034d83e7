package tree

import (
	"math/bits"
	"slices"
)

// rank puts the entries in order, where the GPUs of the left half are before
// those of the right: by the order of the left sets, and where these are the
// same, of the right ones.
func (c *curve) rank() {
	entries := sortBy(c.entries(), len(c.r.sorted), func(e int32) int32 { return c.r.order[c.right[e]] })
	entries = sortBy(entries, len(c.l.sorted), func(e int32) int32 { return c.l.order[c.left[e]] })
	c.number(entries)
}

// entries are those that have a set.
func (c *curve) entries() []int32 {
	entries := make([]int32, 0, len(c.order))
	for e, first := range c.words[0] {
		if first > hardly {
			entries = append(entries, int32(e))
		}
	}
	return entries
}

// number takes the entries to be in order.
func (c *curve) number(entries []int32) {
	c.sorted = entries
	for place, e := range entries {
		c.order[e] = int32(place)
	}
}

// sortBy sorts by a key below keys, and leaves entries of one key as they are.
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

// farther is beyond all GPUs.
const farther = MaxGPUs

// mixer compares sets of the halves of a shape whose GPUs are not apart.
type mixer struct {
	*curve
	left, right []int32 // the places of the halves' free GPUs among the shape's
}

func newMixer(c *curve) *mixer {
	places := make([]int32, c.of.free)
	for i := range places {
		places[i] = int32(i)
	}
	m := &mixer{curve: c}
	m.left, m.right = c.of.split(places)
	return m
}

// compare is negative if the set of entries a of the left half and b of the right
// comes before that of i and j.
func (m *mixer) compare(a, b, i, j int32) int {
	left, right := m.differ(a, b, i, j)
	if left < right {
		return int(m.l.order[a] - m.l.order[i])
	}
	return int(m.r.order[b] - m.r.order[j])
}

// differ returns the first place where the sets differ in the left half, and that
// in the right; farther where they do not.
func (m *mixer) differ(a, b, i, j int32) (left, right int32) {
	left, right = farther, farther
	if a != i {
		left = m.left[m.l.apart(a, i)]
	}
	if b != j {
		right = m.right[m.r.apart(b, j)]
	}
	return left, right
}

// rank puts the curve's entries in order.
func (m *mixer) rank() {
	entries := m.entries()
	slices.SortFunc(entries, func(x, y int32) int {
		return m.compare(m.curve.left[x], m.curve.right[x], m.curve.left[y], m.curve.right[y])
	})
	m.number(entries)
}

// apart is the first free GPU of the shape, by its place among them, that only
// one of two different entries has. In the order of the sets, that is the first
// one in which any two neighbours between them differ.
func (c *curve) apart(x, y int32) int32 {
	if c.gaps == nil {
		c.measure()
	}
	from, to := c.order[x], c.order[y]
	if from > to {
		from, to = to, from
	}
	level := bits.Len32(uint32(to-from)) - 1
	row := c.gaps[level]
	return min(row[from], row[to-1<<level])
}

// measure fills in gaps: gaps[level][k] is where the sets from the k-th to the
// one 1<<level later first differ.
func (c *curve) measure() {
	gaps := make([]int32, max(len(c.sorted)-1, 0))
	if c.l != nil {
		m := newMixer(c)
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
