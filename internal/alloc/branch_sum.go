package alloc

import (
	"slices"
)

// bestSum bounds gain·weight − loss·volume, where the factors may be negative, of
// the sets with the chosen GPUs and any r of the candidates: each candidate
// counts with its links to the chosen, and half of the best that it may have to
// others of its kind.
func (s *search) bestSum(cand vertices, r, gain, loss int) int {
	base := gain*s.weight - loss*s.volume
	if r == 0 {
		return base
	}
	values := s.values[:0]
	for v := range cand.each {
		value := 2 * (gain*s.gain[v] - loss*s.degree[v])
		if gain > 0 {
			value += gain * mostLinks(s.f.weights, v, cand, r-1)
		} else if gain < 0 {
			value += gain * leastLinks(s.f.weights, v, cand, r-1)
		}
		values = append(values, value)
	}
	s.work -= len(values) * (10 + 2*s.f.words)
	s.values = values
	return base + sumOfMost(values, r)>>1
}

// sumOfMost is the sum of the r greatest; it changes their order.
func sumOfMost(values []int, r int) (sum int) {
	slices.Sort(values)
	for _, v := range values[len(values)-r:] {
		sum += v
	}
	return sum
}

// mostLinks is what the best n pairs of v with GPUs of x are worth at most,
// leastLinks what the worst n are worth at least.
func mostLinks(levels []level, v int, x vertices, n int) (sum int) {
	for _, l := range levels {
		if n == 0 {
			break
		}
		take := min(n, l.pairs.of(v).common(x))
		sum += take * l.high
		n -= take
	}
	return sum
}

func leastLinks(levels []level, v int, x vertices, n int) (sum int) {
	for _, l := range slices.Backward(levels) {
		if n == 0 {
			break
		}
		take := min(n, l.pairs.of(v).common(x))
		sum += take * l.low
		n -= take
	}
	return sum
}

// mostVolume is the greatest volume of the sets with r of the candidates, or the
// least one where sign is negative.
func (s *search) mostVolume(cand vertices, r, sign int) int {
	values := s.values[:0]
	for v := range cand.each {
		values = append(values, sign*s.degree[v])
	}
	s.values = values
	return s.volume + sign*sumOfMost(values, r)
}

// localityLimit bounds the locality as bestSum does the weight.
func (s *search) localityLimit(cand vertices, r int) int {
	base := s.sign * s.locality()
	if r == 0 {
		return base
	}
	values := s.values[:0]
	for v := range cand.each {
		value := 0
		for _, i := range s.chosen {
			value += 2 * int(s.f.scale.g.Locality(i, v))
		}
		if s.sign > 0 {
			value += mostLinks(s.f.near, v, cand, r-1)
		} else {
			value += leastLinks(s.f.near, v, cand, r-1)
		}
		values = append(values, s.sign*value)
	}
	s.work -= len(values) * (10 + len(s.chosen) + 2*s.f.words)
	s.values = values
	return base + sumOfMost(values, r)>>1
}
