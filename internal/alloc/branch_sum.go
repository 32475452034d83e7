package alloc

import (
	"slices"
)

// bestSum bounds gain·weight − loss·drain, where the factors may be negative, of
// the sets with the chosen GPUs and any r of the candidates: each candidate
// counts with its links to the chosen, and half of the best that it may have to
// others of its kind.
func (h *hunt) bestSum(cand vertices, r, gain, loss int) int {
	base := gain*h.weight - loss*h.drain
	if r == 0 {
		return base
	}
	values := h.values[:0]
	for v := range cand.each {
		value := 2 * (gain*h.gain[v] - loss*h.degree[v])
		if gain > 0 {
			value += gain * mostLinks(h.f.weights, v, cand, r-1)
		} else if gain < 0 {
			value += gain * leastLinks(h.f.weights, v, cand, r-1)
		}
		values = append(values, value)
	}
	h.work -= len(values) * (10 + 2*h.f.words)
	h.values = values
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

// mostDrain is the greatest drain of the sets with r of the candidates, or the
// least one where sign is negative.
func (h *hunt) mostDrain(cand vertices, r, sign int) int {
	values := h.values[:0]
	for v := range cand.each {
		values = append(values, sign*h.degree[v])
	}
	h.values = values
	return h.drain + sign*sumOfMost(values, r)
}

// localityLimit bounds the locality as bestSum does the weight.
func (h *hunt) localityLimit(cand vertices, r int) int {
	base := h.sign * h.locality()
	if r == 0 {
		return base
	}
	values := h.values[:0]
	for v := range cand.each {
		value := 0
		for _, i := range h.chosen {
			value += 2 * int(h.f.s.g.Locality(i, v))
		}
		if h.sign > 0 {
			value += mostLinks(h.f.near, v, cand, r-1)
		} else {
			value += leastLinks(h.f.near, v, cand, r-1)
		}
		values = append(values, h.sign*value)
	}
	h.work -= len(values) * (10 + len(h.chosen) + 2*h.f.words)
	h.values = values
	return base + sumOfMost(values, r)>>1
}
