package alloc

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// value is a term of the set that is chosen, as far as it is known.
func (s *search) value(t term) span {
	v := s.figure(t)
	if s.sign < 0 {
		return span{-v.high, -v.low}
	}
	return v
}

// figure is value where more is better to Spread.
func (s *search) figure(t term) span {
	exactly := func(v int) span { return span{v, v} }
	cut := s.volume - 2*s.weight
	switch t.by {
	case ByClass:
		return s.class()
	case ByCapability:
		return s.count(s.in, t.class, t.size, len(s.chosen))
	case ByRest:
		s.others.less(s.free, s.in)
		return s.count(s.others, t.class, t.size, len(s.list))
	case ByWeight:
		return exactly(s.weight)
	case ByCut:
		return exactly(-cut)
	case ByLocality:
		return exactly(s.locality())
	case ByScore:
		return exactly(int(s.q.policy.gain)*s.weight - int(s.q.policy.loss)*cut)
	case ByJobs:
		return exactly(-s.f.buddies().jobs(s.rests))
	case ByPacking:
		rest := s.packRest()
		return span{s.weight + rest.low, s.weight + rest.high}
	}
	return span{}
}

// rests tells whether the GPU is free and not chosen.
func (s *search) rests(gpu int) bool { return s.free.has(gpu) && !s.in.has(gpu) }

// class is the class of the set.
func (s *search) class() span {
	last := len(s.f.kinds) - 1
	if len(s.chosen) < 2 {
		return span{int(topology.MX), int(topology.MX)}
	}
	found := span{int(s.f.kinds[last]), -1}
	for at := s.cap; at <= last; at++ {
		v := s.spans(s.in, at)
		if v != no && found.high < 0 {
			found.high = int(s.f.kinds[at])
		}
		if v == yes {
			found.low = int(s.f.kinds[at])
			break
		}
	}
	return found
}

func (s *search) locality() (sum int) {
	for at, i := range s.chosen {
		for _, j := range s.chosen[:at] {
			sum += int(s.f.scale.g.Locality(i, j))
		}
	}
	return sum
}

// candidate writes the numbers of the terms as a Candidate, whose other figures
// mean nothing.
func (s *search) candidate(number func(t term) int) Candidate {
	c := Candidate{Capability: []Count{}, Rest: []Count{}}
	for _, t := range s.terms {
		v := number(t)
		switch t.by {
		case ByClass:
			c.Class = topology.Kind(v)
		case ByCapability:
			c.Capability = append(c.Capability, Count{s.f.kinds[t.class], t.size, v})
		case ByRest:
			c.Rest = append(c.Rest, Count{s.f.kinds[t.class], t.size, v})
		case ByWeight:
			c.Weight = v
		case ByCut:
			c.Cut = -v
		case ByLocality:
			c.Locality = v
		case ByScore:
			c.Score = float64(v) / 1000
		case ByJobs:
			c.Jobs = -v - s.f.buddies().jobs(s.free.has)
		case ByPacking:
			c.Packing = v
		}
	}
	return c
}

// bound is what no set exceeds, as a Candidate.
func (s *search) bound() *Candidate {
	at := -1
	c := s.candidate(func(term) int {
		at++
		return s.sign * max(s.open[at], s.top[at])
	})
	return &c
}

// reached is what the best set has of what the policy compares, as a Candidate.
func (s *search) reached() Candidate {
	at := -1
	return s.candidate(func(term) int {
		at++
		return s.sign * s.top[at]
	})
}

// note says that a set that is not looked at may have a prefix of the terms of
// the best, and then up to so much.
func (s *search) note(prefix []int, hope int) {
	o := make([]int, len(s.root)) // not nil, though a policy may have no terms
	copy(o, s.root)
	if copy(o, prefix); len(prefix) < len(o) {
		o[len(prefix)] = hope
	}
	if s.open == nil || slices.Compare(o, s.open) > 0 {
		s.open = o
	}
}
