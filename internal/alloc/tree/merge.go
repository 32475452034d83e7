package tree

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
)

// merger joins the curves of two halves.
type merger struct {
	*curve
	mixer *mixer // nil if the order of the left half's sets decides first
}

// stretch is a range of numbers of GPUs, both ends included.
type stretch struct{ lo, hi int }

var (
	none = stretch{0, 0}
	many = stretch{0, MaxGPUs}
)

// merge is the curve for from to to GPUs of a shape with these halves.
func merge(s *shape, ly *layout, l, r *curve, from, to int) *curve {
	g := merger{curve: newCurve(s, ly, from, to, rowsOf(l, r))}
	g.l, g.r = l, r
	if s.mix != "" {
		g.mixer = newMixer(g.curve)
	}
	// in their order, so that of two equal sets the first one stays
	for _, i := range l.sorted {
		p, a := l.stateOf(int(i)), l.chosen(int(i))
		for q := range 8 {
			if r.rows>>q&1 == 1 {
				g.extend(int(i), a, p, q)
			}
		}
	}
	for w := 1; w < ly.words; w++ {
		to, left, right := g.words[w], l.words[w], r.words[w]
		for e, first := range g.words[0] {
			if first > hardly {
				to[e] = left[g.left[e]] + right[g.right[e]]
			}
		}
	}
	if g.mixer != nil {
		g.mixer.rank()
	} else {
		g.rank()
	}
	return g.curve
}

// rowsOf says which states the sets of a shape can be in.
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

// extend joins entry i of the left half, for a GPUs in state p, with all of the
// right half in state q.
func (g *merger) extend(i, a, p, q int) {
	s := g.of
	switch {
	case g.layout.job != 0:
		// eight whole buddies make a job
		carry := -g.layout.job * int64((p+q)/hierarchy.MaxBuddy)
		with := many
		if !s.across && a > 0 {
			with = none
		}
		g.join(i, a, q, (p+q)%hierarchy.MaxBuddy, with, carry)
	case !s.across && a > 0:
		g.join(i, a, q, p|q, none, 0)
	default:
		g.join(i, a, q, p|q, many, 0)
	}
}

// join joins entry i of the left half, for a GPUs, with each of the right half in
// state q that is for a number of GPUs within with. The union is in state dst,
// and its first word is that of both and carry.
func (g *merger) join(i, a, q, dst int, with stretch, carry int64) {
	lo := max(with.lo, g.r.lo, g.lo-a)
	hi := min(with.hi, g.r.hi, g.hi-a)
	if lo > hi {
		return
	}
	first := g.l.words[0][i] + carry
	j, e := g.r.at(q, lo), g.at(dst, a+lo)
	words := g.r.words[0][j : j+hi-lo+1]
	best, left, right := g.words[0][e:][:len(words)], g.left[e:][:len(words)], g.right[e:][:len(words)]
	single := len(g.words) == 1 && g.mixer == nil && g.rows&(g.rows-1) == 0
	for k, w := range words {
		switch w += first; {
		case w < best[k], w < hardly:
		case w > best[k], !single && g.worse(left[k], right[k], int32(i), int32(j+k)):
			best[k], left[k], right[k] = w, int32(i), int32(j+k)
		}
	}
}

// worse reports whether the set of the halves' entries a and b is worse than that
// of i and j, which agrees in the first word.
func (g *merger) worse(a, b, i, j int32) bool {
	for w := 1; w < len(g.words); w++ {
		left, right := g.l.words[w], g.r.words[w]
		if d := left[a] + right[b] - left[i] - right[j]; d != 0 {
			return d < 0
		}
	}
	if g.mixer != nil {
		return g.mixer.compare(a, b, i, j) > 0
	}
	// sets of the left half come in their order: a later one makes nothing better
	return a == i && g.r.order[b] > g.r.order[j]
}
