// SPDX-License-Identifier: Apache-2.0

package tree

import "github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"

// merger computes a curve from the curves of two halves.
type merger struct {
	*curve
	interleaver *interleaver // nil if the left half has the lower GPU numbers
}

// interval is a range of numbers of GPUs, both ends included.
type interval struct{ lo, hi int }

var (
	noGPU     = interval{0, 0}
	anyNumber = interval{0, MaxGPUs}
)

// mergeCurves returns the curve for from to to GPUs of a shape with these halves.
func mergeCurves(s *shape, ly *layout, l, r *curve, from, to int) *curve {
	g := merger{curve: emptyCurve(s, ly, from, to, rowsOf(l, r))}
	g.l, g.r = l, r
	if s.halves != "" {
		g.interleaver = newInterleaver(g.curve)
	}
	// in the order of the sets, so that of two equal ones the first stays
	for _, i := range l.sorted {
		p, a := l.poolOf(int(i)), l.chosenCount(int(i))
		for q := range 8 {
			if r.rows>>q&1 == 1 {
				g.joinEntry(int(i), a, p, q)
			}
		}
	}
	for w := 1; w < ly.words; w++ {
		to, left, right := g.words[w], l.words[w], r.words[w]
		for e, first := range g.words[0] {
			if first > leastSet {
				to[e] = left[g.left[e]] + right[g.right[e]]
			}
		}
	}
	if g.interleaver != nil {
		g.interleaver.sortInterleaved()
	} else {
		g.sortByHalves()
	}
	return g.curve
}

// rowsOf returns the pools that the sets of a shape can have, one bit each.
func rowsOf(l, r *curve) (rows uint8) {
	if l.layout.job == 0 {
		return l.rows | r.rows
	}
	for p := range 8 {
		if l.rows>>p&1 == 1 {
			rows |= r.rows<<p | r.rows>>(hierarchy.MaxBuddy-p)
		}
	}
	return rows
}

// joinEntry joins entry i of the left half, for a GPUs and pool p, with all entries of the
// right half with pool q.
func (g *merger) joinEntry(i, a, p, q int) {
	s := g.of
	switch {
	case g.layout.job != 0:
		// eight GPUs of the pools make a job
		carry := -g.layout.job * int64((p+q)/hierarchy.MaxBuddy)
		with := anyNumber
		if !s.across && a > 0 {
			with = noGPU
		}
		g.join(i, a, q, (p+q)%hierarchy.MaxBuddy, with, carry)
	case !s.across && a > 0:
		g.join(i, a, q, p|q, noGPU, 0)
	default:
		g.join(i, a, q, p|q, anyNumber, 0)
	}
}

// join joins entry i of the left half, for a GPUs, with each entry of the right half with
// pool q whose number of GPUs is in with. The union has pool dst; its first word is the sum
// of both and of carry.
func (g *merger) join(i, a, q, dst int, with interval, carry int64) {
	lo := max(with.lo, g.r.lo, g.lo-a)
	hi := min(with.hi, g.r.hi, g.hi-a)
	if lo > hi {
		return
	}
	first := g.l.words[0][i] + carry
	j, e := g.r.entryAt(q, lo), g.entryAt(dst, a+lo)
	words := g.r.words[0][j : j+hi-lo+1]
	best, left, right := g.words[0][e:][:len(words)], g.left[e:][:len(words)], g.right[e:][:len(words)]
	single := len(g.words) == 1 && g.interleaver == nil && g.rows&(g.rows-1) == 0
	for k, w := range words {
		w += first
		switch {
		case w < best[k], w < leastSet: // no better
		case w > best[k], !single && g.worse(left[k], right[k], int32(i), int32(j+k)):
			best[k], left[k], right[k] = w, int32(i), int32(j+k)
		}
	}
}

// worse reports whether the set of entries a and b of the halves is worse than that of i
// and j. Their first words are equal.
func (g *merger) worse(a, b, i, j int32) bool {
	for w := 1; w < len(g.words); w++ {
		left, right := g.l.words[w], g.r.words[w]
		if d := left[a] + right[b] - left[i] - right[j]; d != 0 {
			return d < 0
		}
	}
	if g.interleaver != nil {
		return g.interleaver.compareSets(a, b, i, j) > 0
	}
	// sets of the left half come in their order, so a later one is not better
	return a == i && g.r.order[b] > g.r.order[j]
}
