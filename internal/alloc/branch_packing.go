package alloc

import "slices"

// maxPacked is up to how many GPUs a best packing is found by trying all.
const maxPacked = 12

// packRest is the weight of the best packing of the free GPUs that are not chosen
// into sets of n.
func (h *hunt) packRest() span {
	n := h.q.n
	rest := slices.DeleteFunc(slices.Clone(h.list), func(g int) bool { return h.in.has(g) })
	parts := len(rest) / n
	if parts == 0 || n == 1 {
		return span{}
	}
	if len(rest) <= maxPacked {
		p := packer{h: h, gpus: rest, n: n, most: map[set]int{}}
		best := p.best(set(1)<<len(rest) - 1)
		return span{best, best}
	}
	x := newVertices(h.f.words, rest...)
	values := h.values[:0]
	for _, v := range rest {
		values = append(values, mostLinks(h.f.weights, v, x, n-1))
	}
	h.work -= len(rest) * (10 + 2*h.f.words)
	h.values = values
	high := min(sumOfMost(values, parts*n)/2, h.inPieces(x, parts))
	return span{min(h.greedyParts(rest), high), high}
}

// packer finds the best packing of a few GPUs, as bestPacking does.
type packer struct {
	h    *hunt
	gpus []int
	n    int
	most map[set]int
}

func (p *packer) best(x set) int {
	if x.len() < p.n {
		return 0
	}
	if most, known := p.most[x]; known {
		return most
	}
	first, most := x.first(), 0
	if x.len()%p.n != 0 {
		most = p.best(x &^ first)
	}
	all := subsetsOf(x&^first, p.n-1)
	for others, ok := all.first(); ok; others, ok = all.after(others) {
		part := others | first
		most = max(most, p.weight(part)+p.best(x&^part))
	}
	p.h.work -= 1 << p.n
	p.most[x] = most
	return most
}

func (p *packer) weight(x set) (sum int) {
	for ; x != 0; x &^= x.first() {
		i := p.gpus[x.index()]
		for y := x &^ x.first(); y != 0; y &^= y.first() {
			sum += p.h.f.s.weight(i, p.gpus[y.index()])
		}
	}
	return sum
}

// greedyParts packs by taking to the first GPU that is left, one by one, what
// adds most.
func (h *hunt) greedyParts(rest []int) (sum int) {
	n := h.q.n
	left := slices.Clone(rest)
	for ; len(left) >= n; left = left[n:] {
		gain := make([]int, len(left))
		for at := 1; at < n; at++ {
			best := at
			for i := at; i < len(left); i++ {
				gain[i] += h.f.s.weight(left[at-1], left[i])
				if gain[i] > gain[best] {
					best = i
				}
			}
			sum += gain[best]
			left[at], left[best] = left[best], left[at]
			gain[at], gain[best] = gain[best], gain[at]
		}
		h.work -= n * len(left) / 2
	}
	return sum
}

// inPieces bounds the weight of so many disjoint sets of n GPUs of x. A link worth
// at least some level joins two GPUs of one piece only, if pieces are what hangs
// together by such links, and the sets can have no more pairs within a piece
// than if they fill it one after another.
func (h *hunt) inPieces(x vertices, parts int) (sum int) {
	n := h.q.n
	all := parts * n * (n - 1) / 2
	better := newRelation(h.f.gpus)
	for at, l := range h.f.weights {
		for i, w := range l.pairs.bits {
			better.bits[i] |= w
		}
		below := 0
		if at+1 < len(h.f.weights) {
			below = h.f.weights[at+1].high
		}
		pairs := 0
		left := append(vertices(nil), x...)
		for v := left.first(); v >= 0; v = left.first() {
			piece := better.reach(v, left, h.f.gpus)
			left.less(left, piece)
			size := piece.len()
			pairs += size / n * n * (n - 1) / 2
			pairs += size % n * (size%n - 1) / 2
		}
		sum += min(pairs, all) * (l.high - below)
	}
	h.work -= len(h.f.weights) * x.len() * h.f.words
	return sum
}

// packingLimit bounds the packing of sets with the chosen and r of the candidates:
// each GPU counts with half of the best links that it can have in its part.
func (h *hunt) packingLimit(cand vertices, r int) int {
	n := h.q.n
	parts := len(h.list) / n
	values := h.values[:0]
	base := 2 * h.weight
	for _, v := range h.list {
		if h.in.has(v) {
			base += mostLinks(h.f.weights, v, cand, r)
		} else {
			values = append(values, mostLinks(h.f.weights, v, h.free, n-1))
		}
	}
	h.work -= len(h.list) * (10 + 2*h.f.words)
	h.values = values
	sum := (base + sumOfMost(values, parts*n-len(h.chosen))) / 2
	if h.top == nil {
		return min(sum, h.inPieces(h.free, parts))
	}
	return min(sum, h.root[0])
}
