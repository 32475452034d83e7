package alloc

import "slices"

// maxPacked is up to how many GPUs a best packing is found by trying all.
const maxPacked = 12

// packRest is the weight of the best packing of the free GPUs that are not chosen
// into sets of n.
func (s *search) packRest() span {
	n := s.q.n
	rest := slices.DeleteFunc(slices.Clone(s.list), func(g int) bool { return s.in.has(g) })
	parts := len(rest) / n
	if parts == 0 || n == 1 {
		return span{}
	}
	if len(rest) <= maxPacked {
		p := packer{h: s, gpus: rest, n: n, most: map[set]int{}}
		best := p.best(set(1)<<len(rest) - 1)
		return span{best, best}
	}
	x := newVertices(s.f.words, rest...)
	values := s.values[:0]
	for _, v := range rest {
		values = append(values, mostLinks(s.f.weights, v, x, n-1))
	}
	s.work -= len(rest) * (10 + 2*s.f.words)
	s.values = values
	high := min(sumOfMost(values, parts*n)/2, s.inPieces(x, parts))
	return span{min(s.greedyParts(rest), high), high}
}

// packer finds the best packing of a few GPUs, as bestPacking does.
type packer struct {
	h    *search
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
			sum += p.h.f.scale.weight(i, p.gpus[y.index()])
		}
	}
	return sum
}

// greedyParts packs by taking to the first GPU that is left, one by one, what
// adds most.
func (s *search) greedyParts(rest []int) (sum int) {
	n := s.q.n
	left := slices.Clone(rest)
	for ; len(left) >= n; left = left[n:] {
		gain := make([]int, len(left))
		for at := 1; at < n; at++ {
			best := at
			for i := at; i < len(left); i++ {
				gain[i] += s.f.scale.weight(left[at-1], left[i])
				if gain[i] > gain[best] {
					best = i
				}
			}
			sum += gain[best]
			left[at], left[best] = left[best], left[at]
			gain[at], gain[best] = gain[best], gain[at]
		}
		s.work -= n * len(left) / 2
	}
	return sum
}

// inPieces bounds the weight of so many disjoint sets of n GPUs of x. A link worth
// at least some level joins two GPUs of one piece only, if pieces are what hangs
// together by such links, and the sets can have no more pairs within a piece
// than if they fill it one after another.
func (s *search) inPieces(x vertices, parts int) (sum int) {
	n := s.q.n
	all := parts * n * (n - 1) / 2
	better := newRelation(s.f.gpus)
	for at, l := range s.f.weights {
		for i, w := range l.pairs.bits {
			better.bits[i] |= w
		}
		below := 0
		if at+1 < len(s.f.weights) {
			below = s.f.weights[at+1].high
		}
		pairs := 0
		left := append(vertices(nil), x...)
		for v := left.first(); v >= 0; v = left.first() {
			piece := better.reach(v, left, s.f.gpus)
			left.less(left, piece)
			size := piece.len()
			pairs += size / n * n * (n - 1) / 2
			pairs += size % n * (size%n - 1) / 2
		}
		sum += min(pairs, all) * (l.high - below)
	}
	s.work -= len(s.f.weights) * x.len() * s.f.words
	return sum
}

// packingLimit bounds the packing of sets with the chosen and r of the candidates:
// each GPU counts with half of the best links that it can have in its part.
func (s *search) packingLimit(cand vertices, r int) int {
	n := s.q.n
	parts := len(s.list) / n
	values := s.values[:0]
	base := 2 * s.weight
	for _, v := range s.list {
		if s.in.has(v) {
			base += mostLinks(s.f.weights, v, cand, r)
		} else {
			values = append(values, mostLinks(s.f.weights, v, s.free, n-1))
		}
	}
	s.work -= len(s.list) * (10 + 2*s.f.words)
	s.values = values
	sum := (base + sumOfMost(values, parts*n-len(s.chosen))) / 2
	if s.top == nil {
		return min(sum, s.inPieces(s.free, parts))
	}
	return min(sum, s.root[0])
}
