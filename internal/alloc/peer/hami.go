// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// HAMiTable is the value of a node's annotation from which HAMi, a scheduler for
// Kubernetes, computes a score: a number for each number of GPUs. The annotations
// metax-tech.com/gpu.topology.scores and metax-tech.com/gpu.topology.losses have the greatest
// weights of sets of the free GPUs, and the cuts of those sets.
type HAMiTable map[int]int

// NewHAMiTable returns the table of a list whose item 0 is for 1 GPU.
func NewHAMiTable(list []int) HAMiTable {
	t := HAMiTable{}
	for i, v := range list {
		t[i+1] = v
	}
	return t
}

// String returns the annotation, in the order of the numbers of GPUs.
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

// NodeScore returns the score that HAMi computes from a table for a job of n GPUs: 2000 less
// the table's number, or less 0 if the table has none.
//
// Under its policy binpack, HAMi takes the losses, and the node with the greatest score wins.
// Under spread, it takes the scores, and the node with the least score wins: the better set
// wins because the order is inverted twice. A node that cannot serve the job looks like one
// that loses nothing. Picker.Score of package alloc is never inverted, and a node that cannot
// serve the job has no score.
func (t HAMiTable) NodeScore(n int) int { return 2000 - t[n] }

// HAMiExclusive returns HAMi's score of GPUs that a job takes whole on a node of slices: ten
// times the weight of their links, less the cut. The weight of a pair is 10 if both GPUs are
// in the same zone, and 0 otherwise. zones is by GPU; a number that is not positive is not a
// zone. taken must be among free.
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

// HAMi has HAMi's numbers for a job on a node. Weight and Cut are those of its annotations for
// the heaviest set, Binpack and Spread its scores of the node by them, and Exclusive that of
// the GPUs that the job takes on a node of slices.
type HAMi struct {
	Weight    int `json:"weight"`
	Cut       int `json:"cut"`
	Binpack   int `json:"binpack"`
	Spread    int `json:"spread"`
	Exclusive int `json:"exclusive"`
}

// NewHAMi returns the numbers for a job of n GPUs that takes these of the free ones. domains
// are the node's link domains.
func NewHAMi(n, weight, cut int, domains [][]int, free, taken []int) HAMi {
	zones := make([]int, slices.Max(append(slices.Concat(domains...), free...))+1)
	for i, domain := range domains {
		for _, g := range domain {
			zones[g] = i + 1
		}
	}
	return HAMi{
		Weight: weight, Cut: cut, Exclusive: HAMiExclusive(zones, free, taken),
		Binpack: HAMiTable{n: cut}.NodeScore(n), Spread: HAMiTable{n: weight}.NodeScore(n),
	}
}
