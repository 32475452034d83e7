package alloc

import "math/bits"

// vertices is a set of GPUs of a graph of any size: bit i%64 of word i/64 is GPU
// i. Sets that meet in one operation are of one graph, and so as long.
type vertices []uint64

func newVertices(words int, gpus ...int) vertices {
	v := make(vertices, words)
	for _, g := range gpus {
		v.add(g)
	}
	return v
}

func (v vertices) has(i int) bool { return v[i>>6]>>(i&63)&1 == 1 }

func (v vertices) add(i int) { v[i>>6] |= 1 << (i & 63) }

func (v vertices) drop(i int) { v[i>>6] &^= 1 << (i & 63) }

func (v vertices) len() (n int) {
	for _, w := range v {
		n += bits.OnesCount64(w)
	}
	return n
}

// common is how many members v and o share.
func (v vertices) common(o vertices) (n int) {
	for i, w := range v {
		n += bits.OnesCount64(w & o[i])
	}
	return n
}

// within tells whether all members of v are in o.
func (v vertices) within(o vertices) bool {
	for i, w := range v {
		if w&^o[i] != 0 {
			return false
		}
	}
	return true
}

// first is the lowest member, -1 of none.
func (v vertices) first() int {
	for i, w := range v {
		if w != 0 {
			return i<<6 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// each goes through the members, ascending. What is done to v meanwhile tells
// only in words that are still to come.
func (v vertices) each(yield func(int) bool) {
	for i, w := range v {
		for ; w != 0; w &= w - 1 {
			if !yield(i<<6 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// list is all members, ascending.
func (v vertices) list() []int {
	gpus := make([]int, 0, v.len())
	for i := range v.each {
		gpus = append(gpus, i)
	}
	return gpus
}

// join makes v the union of a and b, cross what they share, less what only a
// holds. v may be one of the two.
func (v vertices) join(a, b vertices) {
	for i := range v {
		v[i] = a[i] | b[i]
	}
}

func (v vertices) cross(a, b vertices) {
	for i := range v {
		v[i] = a[i] & b[i]
	}
}

func (v vertices) less(a, b vertices) {
	for i := range v {
		v[i] = a[i] &^ b[i]
	}
}
