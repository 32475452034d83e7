package table

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// together returns the best disjoint sets of these sizes: their classes are
// compared, the worst first, then the rest of the key of Spread, or of Binpack,
// summed over the sets. Of equal ones those come first that differ first in the
// order of the sizes.
func (s *Solver) Together(free, sizes []int, binpack bool) [][]int {
	j := jointSearch{table: s.load(), sizes: sizes, rest: binpack}
	sets := make([][]int, 0, len(sizes))
	for _, x := range j.solve(setOf(free)) {
		sets = append(sets, x.gpus())
	}
	return sets
}

// jointSearch looks for the best disjoint sets of given sizes.
type jointSearch struct {
	*table
	sizes []int
	rest  bool // what remains counts before the sets
	free  set
	best  []map[set]jointBest // by stage and what is left
}

// jointValue is what sets are worth together, most important first.
type jointValue [6]int64

// jointBest is the best way to serve the Wants from some stage on.
type jointBest struct {
	value jointValue
	take  set // by the first of them
}

func (j *jointSearch) solve(free set) []set {
	j.free = free
	j.best = make([]map[set]jointBest, len(j.sizes))
	for i := range j.best {
		j.best[i] = map[set]jointBest{}
	}
	j.serve(0, free)
	sets := make([]set, len(j.sizes))
	for i := range sets {
		sets[i] = j.best[i][free].take
		free &^= sets[i]
	}
	return sets
}

// serve is the value of the best sets for the Wants from stage i on.
func (j *jointSearch) serve(i int, left set) jointValue {
	if i == len(j.sizes) {
		return j.value(0, int64(j.facts[left].capability), -j.cut(j.free&^left, left))
	}
	if known, ok := j.best[i][left]; ok {
		return known.value
	}
	var best jointBest
	all := subsetsOf(left, j.sizes[i])
	for s, ok := all.first(); ok; s, ok = all.after(s) {
		v := j.value(s, 0, 0)
		for k, more := range j.serve(i+1, left&^s) {
			v[k] += more
		}
		if by := slices.Compare(v[:], best.value[:]); best.take == 0 || by > 0 || by == 0 && s.before(best.take) {
			best = jointBest{v, s}
		}
	}
	j.best[i][left] = best
	return best.value
}

// value is the part of a set in the value of all, or that of the rest.
func (j *jointSearch) value(s set, rest, cut int64) jointValue {
	if s == 0 {
		if j.rest {
			return jointValue{0, rest, cut}
		}
		return jointValue{0, 0, 0, rest, cut}
	}
	f := j.facts[s]
	// One more set of a class weighs more than all sets of the better classes.
	classes := -int64(1) << (5 * (int(topology.MX) - int(f.class)))
	if j.rest {
		return jointValue{classes, 0, 0, int64(f.capability), int64(f.weight), int64(f.locality)}
	}
	return jointValue{classes, int64(f.capability), int64(f.weight), 0, 0, int64(f.locality)}
}
