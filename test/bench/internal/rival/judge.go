package rival

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// judge computes the value of sets of k GPUs of one node.
type judge struct {
	node   Node
	k      int
	weight []int32 // by set: the sum of its pairs' scores
	// whole and full are, by set, the most that its partitions into sets of k are worth: with
	// the set that is too small if there is one, as NVIDIA's best-effort policy adds up, and
	// without it, as ours does.
	whole, full []int32
	// spread knows what our default policy compares.
	spread *alloc.Picker
}

// newJudge weighs all sets of a node.
func newJudge(n Node) (*judge, error) {
	g, err := n.graph()
	if err != nil {
		return nil, err
	}
	j := &judge{node: n, weight: make([]int32, 1<<n.GPUs)}
	if j.spread, err = alloc.NewWeighted(g, n.Weights); err != nil {
		return nil, err
	}
	for set := range uint32(len(j.weight)) {
		if bits.OnesCount32(set) < 2 {
			continue
		}
		a := bits.TrailingZeros32(set)
		others := set & (set - 1)
		sum := j.weight[others]
		for _, b := range members(others) {
			sum += int32(n.score(a, b))
		}
		j.weight[set] = sum
	}
	return j, nil
}

// of turns the judge to sets of k.
func (j *judge) of(k int) {
	j.k = k
	j.whole, j.full = j.packings(true), j.packings(false)
}

// packings is, by set, the most that its partitions into sets of k are worth. rest counts
// what the set of those that are left over is worth.
func (j *judge) packings(rest bool) []int32 {
	most := make([]int32, len(j.weight))
	for set := uint32(1); int(set) < len(most); set++ {
		size := bits.OnesCount32(set)
		if size < j.k {
			if rest {
				most[set] = j.weight[set]
			}
			continue
		}
		first := set & -set
		others := set &^ first
		try := func(part uint32, worth int32) { most[set] = max(most[set], worth+most[set&^part]) }
		eachSubset(others, j.k-1, func(s uint32) { try(s|first, j.weight[s|first]) })
		if left := size % j.k; left > 0 {
			eachSubset(others, left-1, func(s uint32) {
				if rest {
					try(s|first, j.weight[s|first])
				} else {
					try(s|first, 0)
				}
			})
		}
	}
	return most
}

// eachSubset calls do for each subset of that size.
func eachSubset(set uint32, size int, do func(uint32)) {
	var extend func(left, chosen uint32, more int)
	extend = func(left, chosen uint32, more int) {
		if more == 0 {
			do(chosen)
			return
		}
		for ; bits.OnesCount32(left) >= more; left &= left - 1 {
			extend(left&(left-1), chosen|left&-left, more-1)
		}
	}
	extend(set, 0, size)
}

// verdict is the judgement of an answer.
type verdict struct {
	none, wrong bool
	// best reports whether no set reaches more by NVIDIA's aim; bestFull the same by ours.
	best, bestFull bool
	// lowerClass and lower report whether our default policy has a set whose ring is of a better
	// class, and whether it has one that is better at all but by the order of indices.
	lowerClass, lower bool
}

// judge judges the answer. An error is a defect of this comparison or of the picker: a
// set that is better than the best.
func (j *judge) judge(free uint32, answer []int, best key.Candidate) (verdict, error) {
	set, ok := j.set(free, answer)
	if !ok {
		return verdict{none: len(answer) == 0, wrong: len(answer) > 0}, nil
	}
	v := verdict{}
	for _, aim := range []struct {
		most []int32
		best *bool
	}{{j.whole, &v.best}, {j.full, &v.bestFull}} {
		got, most := j.weight[set]+aim.most[free&^set], aim.most[free]
		if got > most {
			return verdict{}, fmt.Errorf("%d of %v on %s: %v is worth %d, more than the most, %d", j.k, members(free), j.node.Name, answer, got, most)
		}
		*aim.best = got == most
	}
	c, err := j.candidate(free, set)
	if err != nil {
		return verdict{}, err
	}
	switch by := compare(c, best); {
	case by > 0:
		return verdict{}, fmt.Errorf("%d of %v on %s: %v is better than the best: %+v, %+v", j.k, members(free), j.node.Name, answer, c, best)
	case by < 0:
		v.lower, v.lowerClass = true, c.Class < best.Class
	}
	return v, nil
}

// compare reports whether our default policy prefers a (1) or b (-1); 0 leaves it to the order of
// indices.
func compare(a, b key.Candidate) int {
	counts := func(a, b []key.Count) int {
		return slices.CompareFunc(a, b, func(a, b key.Count) int { return cmp.Compare(a.Sets, b.Sets) })
	}
	return cmp.Or(
		cmp.Compare(a.Class, b.Class), counts(a.Capability, b.Capability), cmp.Compare(a.Weight, b.Weight),
		counts(a.Rest, b.Rest), cmp.Compare(b.Cut, a.Cut), cmp.Compare(a.Locality, b.Locality),
	)
}

// set is the answer, if it is one: k different GPUs, all of them free.
func (j *judge) set(free uint32, answer []int) (set uint32, ok bool) {
	for _, g := range answer {
		if g < 0 || g >= j.node.GPUs || free>>g&1 == 0 || set>>g&1 == 1 {
			return 0, false
		}
		set |= 1 << g
	}
	return set, len(answer) == j.k
}

// best is what the best set by our default policy is judged by.
func (j *judge) best(free uint32) (key.Candidate, error) {
	a, err := j.spread.Pick(alloc.Request{N: j.k, Free: members(free)})
	if err != nil {
		return key.Candidate{}, err
	}
	set, ok := j.set(free, a.GPUs)
	if !ok {
		return key.Candidate{}, fmt.Errorf("%d of %v on %s: the picker gives %v", j.k, members(free), j.node.Name, a.GPUs)
	}
	return j.candidate(free, set)
}

// candidate is the picker's own evaluation of the set with the default policy.
func (j *judge) candidate(free, set uint32) (key.Candidate, error) {
	a, err := j.spread.Pick(alloc.Request{N: j.k, Free: members(free), Required: members(set), Explain: true})
	if err != nil {
		return key.Candidate{}, err
	}
	return a.Explanation.Chosen, nil
}
