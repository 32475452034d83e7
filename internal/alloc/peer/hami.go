package peer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// HAMiTable is the value of an annotation of a node by which HAMi, a scheduler for
// Kubernetes, judges it: a number for each number of GPUs. metax-tech.com/gpu.topology.scores
// and metax-tech.com/gpu.topology.losses have the Vectors of the free GPUs.
type HAMiTable map[int]int

// NewHAMiTable makes a table of a vector, whose index 0 is for 1 GPU.
func NewHAMiTable(vector []int) HAMiTable {
	t := HAMiTable{}
	for i, v := range vector {
		t[i+1] = v
	}
	return t
}

// String is the annotation, in the order of the numbers.
func (t HAMiTable) String() string {
	var b strings.Builder
	for i, n := range slices.Sorted(maps.Keys(t)) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%d":%d`, n, t[n])
	}
	return "{" + b.String() + "}"
}

// NodeScore is what HAMi makes of a table for a job of n GPUs: 2000 less the
// table's number, for which 0 stands where there is none.
//
// HAMi takes the losses under its policy binpack, where the node with the
// greatest result wins, and the scores under spread, where the one with the least
// wins. So the better set wins under spread only because it is turned round
// twice, and a node that cannot serve the job at all looks like one that loses
// nothing. Score of this package is not inverted: the better node has the greater
// score whatever the policy, and one that cannot serve the job has none.
func (t HAMiTable) NodeScore(n int) int { return 2000 - t[n] }

// HAMiExclusive is HAMi's score of GPUs that a job takes whole on a node of
// slices: ten times the weight of their links, less what the free GPUs lose by
// it, the cut. A pair of one link zone weighs 10 and any other nothing. zones are
// by GPU; those that are not positive are none. taken must be among free.
func HAMiExclusive(zones, free, taken []int) int {
	rest := slices.DeleteFunc(slices.Clone(free), func(g int) bool { return slices.Contains(taken, g) })
	weight := func(gpus []int) (sum int) {
		for i, a := range gpus {
			for _, b := range gpus[:i] {
				if zones[a] > 0 && zones[a] == zones[b] {
					sum += 10
				}
			}
		}
		return sum
	}
	score := weight(taken)
	return 10*score - (weight(free) - score - weight(rest))
}
