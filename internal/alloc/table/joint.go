// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Joint returns disjoint sets of the given sizes that are best together: their classes
// are compared, the worst first, then the rest of the key of Spread, or of Binpack,
// summed over the sets. If they are equal, the lower GPU numbers win, those of the first
// size first.
func (s *Solver) Joint(free, sizes []int, binpack bool) [][]int {
	j := jointSearch{table: s.load(), sizes: sizes, restFirst: binpack, free: setOf(free)}
	sets := make([][]int, 0, len(sizes))
	for _, x := range j.solve() {
		sets = append(sets, x.gpus())
	}
	return sets
}

// jointSearch looks for the best disjoint sets, size by size. It remembers the best sets
// for the sizes from each one on and for each set that the sizes before it leave.
type jointSearch struct {
	*table
	sizes     []int
	restFirst bool // the rest is compared before the sets
	free      set
	known     []map[set]jointBest // by size and what is left
}

// jointValue is the key of several sets together, most important component first.
type jointValue [6]int64

// jointBest is the best choice for the sizes from one on: its value, and the set that
// the first of the sizes gets.
type jointBest struct {
	value jointValue
	take  set
}

func (j *jointSearch) solve() []set {
	j.known = make([]map[set]jointBest, len(j.sizes))
	for i := range j.known {
		j.known[i] = map[set]jointBest{}
	}
	j.bestFrom(0, j.free)
	sets, left := make([]set, len(j.sizes)), j.free
	for i := range sets {
		sets[i] = j.known[i][left].take
		left &^= sets[i]
	}
	return sets
}

// bestFrom returns the value of the best sets for the sizes from number i on.
func (j *jointSearch) bestFrom(i int, left set) jointValue {
	if i == len(j.sizes) {
		return j.restValue(left)
	}
	if known, ok := j.known[i][left]; ok {
		return known.value
	}
	var best jointBest
	all := subsetsOf(left, j.sizes[i])
	for s, ok := all.first(); ok; s, ok = all.after(s) {
		v := j.setValue(s)
		for k, more := range j.bestFrom(i+1, left&^s) {
			v[k] += more
		}
		if by := slices.Compare(v[:], best.value[:]); best.take == 0 || by > 0 || (by == 0 && s.before(best.take)) {
			best = jointBest{v, s}
		}
	}
	j.known[i][left] = best
	return best.value
}

// restValue returns what the rest adds to the value.
func (j *jointSearch) restValue(rest set) jointValue {
	capability, cut := int64(j.rows[rest].capability), j.cutWeight(j.free&^rest, rest)
	if j.restFirst {
		return jointValue{0, capability, -cut}
	}
	return jointValue{0, 0, 0, capability, -cut}
}

// setValue returns what one set adds to the value.
func (j *jointSearch) setValue(s set) jointValue {
	r := j.rows[s]
	// One set more of a class weighs more than all sets of the better classes.
	class := -int64(1) << (5 * (int(topology.MX) - int(r.class)))
	if j.restFirst {
		return jointValue{class, 0, 0, int64(r.capability), int64(r.weight), int64(r.locality)}
	}
	return jointValue{class, int64(r.capability), int64(r.weight), 0, 0, int64(r.locality)}
}
