package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// value is a term of the set that is chosen, as far as it is known.
func (h *hunt) value(t term) span {
	s := h.figure(t)
	if h.sign < 0 {
		return span{-s.high, -s.low}
	}
	return s
}

// figure is value where more is better to Spread.
func (h *hunt) figure(t term) span {
	exactly := func(v int) span { return span{v, v} }
	cut := h.drain - 2*h.weight
	switch t.by {
	case ByClass:
		return h.class()
	case ByCapability:
		return h.count(h.in, t.class, t.size, len(h.chosen))
	case ByRest:
		h.others.less(h.free, h.in)
		return h.count(h.others, t.class, t.size, len(h.list))
	case ByWeight:
		return exactly(h.weight)
	case ByCut:
		return exactly(-cut)
	case ByLocality:
		return exactly(h.locality())
	case ByScore:
		return exactly(int(h.q.policy.gain)*h.weight - int(h.q.policy.loss)*cut)
	case ByJobs:
		return exactly(-h.f.buddies().jobs(h.rests))
	case ByPacking:
		rest := h.packRest()
		return span{h.weight + rest.low, h.weight + rest.high}
	}
	return span{}
}

// rests tells whether the GPU is free and not chosen.
func (h *hunt) rests(gpu int) bool { return h.free.has(gpu) && !h.in.has(gpu) }

// class is the class of the set.
func (h *hunt) class() span {
	last := len(h.f.kinds) - 1
	if len(h.chosen) < 2 {
		return span{int(topology.MX), int(topology.MX)}
	}
	s := span{int(h.f.kinds[last]), -1}
	for at := h.cap; at <= last; at++ {
		v := h.spans(h.in, at)
		if v != no && s.high < 0 {
			s.high = int(h.f.kinds[at])
		}
		if v == yes {
			s.low = int(h.f.kinds[at])
			break
		}
	}
	return s
}

func (h *hunt) locality() (sum int) {
	for at, i := range h.chosen {
		for _, j := range h.chosen[:at] {
			sum += int(h.f.s.g.Locality(i, j))
		}
	}
	return sum
}

// candidate writes the numbers of the terms as a Candidate, whose other figures
// mean nothing.
func (h *hunt) candidate(number func(t term) int) Candidate {
	c := Candidate{Capability: []Count{}, Rest: []Count{}}
	for _, t := range h.terms {
		v := number(t)
		switch t.by {
		case ByClass:
			c.Class = topology.Kind(v)
		case ByCapability:
			c.Capability = append(c.Capability, Count{h.f.kinds[t.class], t.size, v})
		case ByRest:
			c.Rest = append(c.Rest, Count{h.f.kinds[t.class], t.size, v})
		case ByWeight:
			c.Weight = v
		case ByCut:
			c.Cut = -v
		case ByLocality:
			c.Locality = v
		case ByScore:
			c.Score = float64(v) / 1000
		case ByJobs:
			c.Jobs = -v - h.f.buddies().jobs(h.free.has)
		case ByPacking:
			c.Packing = v
		}
	}
	return c
}

// bound is what no set exceeds, as a Candidate.
func (h *hunt) bound() *Candidate {
	at := -1
	c := h.candidate(func(term) int {
		at++
		return h.sign * max(h.open[at], h.top[at])
	})
	return &c
}

// reached is what the best set has of what the policy compares, as a Candidate.
func (h *hunt) reached() Candidate {
	at := -1
	return h.candidate(func(term) int {
		at++
		return h.sign * h.top[at]
	})
}

// note says that a set that is not looked at may have a prefix of the terms of
// the best, and then up to so much.
func (h *hunt) note(prefix []int, hope int) {
	o := make([]int, len(h.root)) // not nil, though a policy may have no terms
	copy(o, h.root)
	if copy(o, prefix); len(prefix) < len(o) {
		o[len(prefix)] = hope
	}
	if h.open == nil || slices.Compare(o, h.open) > 0 {
		h.open = o
	}
}
