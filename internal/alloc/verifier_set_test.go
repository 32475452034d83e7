package alloc

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// weighed is a set of free GPUs with the components computed so far.
type weighed struct {
	j          *judge
	gpus, rest []int // ascending
	known      [key.ByOrder][]answered
	done       [key.ByOrder][]bool
}

// weigh returns the set of gpus, ascending, without any component.
func (j *judge) weigh(gpus []int) *weighed { return &weighed{j: j, gpus: gpus} }

// others are the free GPUs that are not in the set.
func (s *weighed) others() []int {
	if s.rest == nil {
		s.rest = make([]int, 0, len(s.j.q.Free)-len(s.gpus))
		for _, g := range s.j.q.Free {
			if _, mine := slices.BinarySearch(s.gpus, g); !mine {
				s.rest = append(s.rest, g)
			}
		}
	}
	return s.rest
}

// compare returns which set the policy prefers, 1 for s, and the component that decides.
func (s *weighed) compare(o *weighed) (by int, decided key.Component, known bool) {
	for _, c := range s.j.key {
		length := 1
		if c == key.ByCapability || c == key.ByRest {
			length = len(s.shape(c))
		}
		for i := range length {
			x, known := s.at(c, i)
			y, too := o.at(c, i)
			if !known || !too {
				return 0, c, false
			}
			if by := cmp.Compare(x, y); by != 0 {
				return by, c, true
			}
		}
	}
	return slices.Compare(o.gpus, s.gpus), key.ByOrder, true
}

// shape lists the counts of a capability, the most important first, without
// their numbers.
func (s *weighed) shape(c key.Component) (shape []key.Count) {
	members := len(s.gpus)
	if c == key.ByRest {
		members = len(s.j.q.Free) - members
	}
	for i, class := range s.j.classes {
		if i > 0 && i == len(s.j.classes)-1 {
			break // every set fits the worst class
		}
		size := 1
		for 2*size <= members {
			size *= 2
		}
		for ; size > 1; size /= 2 {
			shape = append(shape, key.Count{Class: class, Size: size})
		}
	}
	return shape
}

// at is number i of a component, more being better.
func (s *weighed) at(c key.Component, i int) (n int, known bool) {
	for len(s.done[c]) <= i {
		s.done[c], s.known[c] = append(s.done[c], false), append(s.known[c], answered{})
	}
	if !s.done[c][i] {
		n, known := s.work(c, i)
		s.done[c][i], s.known[c][i] = true, answered{n, known}
	}
	a := s.known[c][i]
	return a.n, a.known
}

// work computes at.
func (s *weighed) work(c key.Component, i int) (n int, known bool) {
	j := s.j
	switch c {
	case key.ByClass:
		if len(s.gpus) < 2 {
			return int(topology.MX), true
		}
		for i, class := range j.classes {
			fits, known := j.fits(s.gpus, i)
			if !known || fits {
				return int(class), known
			}
		}
	case key.ByCapability:
		want := s.shape(c)[i]
		return j.sets(s.gpus, slices.Index(j.classes, want.Class), want.Size)
	case key.ByRest:
		want := s.shape(c)[i]
		return j.sets(s.others(), slices.Index(j.classes, want.Class), want.Size)
	case key.ByWeight:
		for i, a := range s.gpus {
			for _, b := range s.gpus[:i] {
				n += j.worth(a, b)
			}
		}
		j.steps -= len(s.gpus) * len(s.gpus)
		return n, true
	case key.ByCut:
		// The links to all free GPUs, of which those inside count from both ends.
		inside, _ := s.at(key.ByWeight, 0)
		n = 2 * inside
		for _, g := range s.gpus {
			n -= j.pull[g]
		}
		return n, true
	case key.ByLocality:
		for i, a := range s.gpus {
			for _, b := range s.gpus[:i] {
				n += int(alloctest.PlaceOf(j.g, a, b))
			}
		}
		j.steps -= len(s.gpus) * len(s.gpus)
		return n, true
	case key.ByScore:
		weight, _ := s.at(key.ByWeight, 0)
		cut, _ := s.at(key.ByCut, 0)
		gain, loss := alloctest.Factors(j.q.Policy)
		return gain*weight + loss*cut, true
	case key.ByJobs:
		j.steps -= 2 * j.g.Len()
		return j.family.jobs(j.q.Free) - j.family.jobs(s.others()), true
	}
	return 0, true
}

// inside reports whether the set lies within the scope.
func (j *judge) inside(s *weighed) (inside, known bool) {
	switch j.q.Scope {
	case key.Link:
		class, known := s.at(key.ByClass, 0)
		return topology.Kind(class) == topology.MX, known
	case key.Switch, key.NUMA:
		for i, a := range s.gpus {
			for _, b := range s.gpus[:i] {
				if !j.near(a, b) {
					return false, true
				}
			}
		}
	}
	return true, true
}

// near reports whether two GPUs sit as near as the scope demands, as far as that is
// known: their places say so, or the class that the host states of a path over
// PCIe, unless their NUMA nodes differ.
func (j *judge) near(a, b int) bool {
	place, kind := j.g.Locality(a, b), j.g.Kind(a, b)
	if place == topology.OtherNUMA {
		return false
	}
	if j.q.Scope == key.Switch {
		return place == topology.SameSwitch || kind == topology.PIX
	}
	return place != topology.LocalityUnknown || kind >= topology.NODE && kind <= topology.PIX
}

// neighbourhood gives the sets to compare with that of the answer: all others, or
// those that differ in one GPU, evenly thinned out to the greatest number there
// may be. total counts them before that.
func (j *judge) neighbourhood(gpus []int) (all bool, total int, each func(yield func(gpus []int) bool)) {
	pick := len(gpus) - len(j.q.Required)
	var pool, out []int // what may be swapped in the whole, and what for
	for _, g := range j.q.Free {
		if !slices.Contains(j.q.Required, g) {
			pool = append(pool, g)
		}
		if !slices.Contains(gpus, g) {
			out = append(out, g)
		}
	}
	if sets := countSubsets(len(pool), pick); sets <= maxVerified {
		return true, sets - 1, func(yield func([]int) bool) {
			j.combine(pool, pick, slices.Clone(j.q.Required), func(other []int) bool {
				return slices.Equal(other, gpus) || yield(other)
			})
		}
	}
	total = pick * len(out)
	return false, total, func(yield func([]int) bool) {
		var mine []int
		for _, g := range gpus {
			if !slices.Contains(j.q.Required, g) {
				mine = append(mine, g)
			}
		}
		for i := 0; i < total; i += (total + maxVerified - 1) / maxVerified {
			other := slices.Clone(gpus)
			other[slices.Index(other, mine[i%pick])] = out[i/pick]
			slices.Sort(other)
			if !yield(other) {
				return
			}
		}
	}
}

// combine calls yield with each set of chosen and pick members of the pool, in
// ascending order, until that returns false.
func (j *judge) combine(pool []int, pick int, chosen []int, yield func([]int) bool) bool {
	if pick == 0 {
		set := slices.Clone(chosen)
		slices.Sort(set)
		return yield(set)
	}
	for i := range len(pool) - pick + 1 {
		if !j.combine(pool[i+1:], pick-1, append(chosen, pool[i]), yield) {
			return false
		}
	}
	return true
}

// countSubsets is how many sets of k there are among n, or more than maxVerified if
// there are.
func countSubsets(n, k int) int {
	k = min(k, n-k)
	sets := 1
	for i := range k {
		if sets = sets * (n - i) / (i + 1); sets > maxVerified {
			break
		}
	}
	return sets
}
