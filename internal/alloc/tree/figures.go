// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"math/bits"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// JobsLeft returns how many jobs fill the free GPUs that are not chosen.
func (t *Solver) JobsLeft(free, chosen []int) int {
	left := make([]bool, len(t.dendrogram.leaf))
	for _, g := range free {
		left[g] = true
	}
	for _, g := range chosen {
		left[g] = false
	}
	return t.unweighted().Jobs(func(gpu int) bool { return left[gpu] })
}

// class returns the class of the smallest cluster with all of the GPUs.
func (t *Solver) class(gpus []int) topology.Kind {
	if len(gpus) < 2 {
		return topology.MX
	}
	d := t.dendrogram
	seen := make([]int, len(d.vertices))
	for _, gpu := range gpus {
		for at := d.leaf[gpu]; at >= 0; at = d.vertices[at].parent {
			if seen[at]++; seen[at] == len(gpus) {
				return d.ranks[d.vertices[at].rank].Class
			}
		}
	}
	return topology.Unknown
}

// tally counts a set of GPUs and the rest.
type tally struct {
	set, rest             []bool // by GPU
	inSet, inRest         fitCounts
	weight, cut, locality int
}

// fitCounts says how many sets of 1<<shift GPUs fit a class, by class and shift.
type fitCounts [topology.MX + 1][bits.UintSize]int

// Figures returns the components of a set of the free GPUs.
func (t *Solver) Figures(q key.Question, gpus []int) key.Candidate {
	n := len(t.dendrogram.leaf)
	c := &tally{set: make([]bool, n), rest: make([]bool, n)}
	for _, g := range q.Free {
		c.rest[g] = true
	}
	for _, g := range gpus {
		c.set[g], c.rest[g] = true, false
	}
	s, r := c.count(t.root)
	c.fit(t.root, topology.Unknown, s, r)
	f := key.Candidate{
		GPUs: gpus, Class: t.class(gpus), Weight: c.weight, Cut: c.cut, Locality: c.locality,
		Capability: t.capability(&c.inSet, s), Rest: t.capability(&c.inRest, r),
	}
	switch q.Policy.Objective() {
	case key.ObjectiveWeighted:
		f.Score = float64(q.Policy.Score(int64(f.Weight), int64(f.Cut))) / 1000
	case key.ObjectiveMTF:
		f.Jobs = t.JobsLeft(q.Free, gpus) - t.JobsLeft(q.Free, nil)
	case key.ObjectiveSpread, key.ObjectiveBinpack, key.ObjectiveFirst, key.ObjectiveHeaviest: // have neither
	}
	return f
}

// count returns how many GPUs of the set and of the rest are in the cluster, and adds up
// its pairs.
func (c *tally) count(d *hierarchy.Cluster) (s, r int) {
	if len(d.Parts) == 0 {
		for _, g := range d.GPUs { // one, or none in an empty node
			s, r = oneIf(c.set[g]), oneIf(c.rest[g])
		}
		return s, r
	}
	for _, in := range d.Parts {
		x, y := c.count(in)
		c.weight += int(d.Rank.Weight) * s * x
		c.cut += int(d.Rank.Weight) * (s*y + r*x)
		c.locality += int(d.Rank.Locality) * s * x
		s, r = s+x, r+y
		c.fit(in, d.Rank.Class+1, x, y)
	}
	return s, r
}

// fit counts the sets that the cluster's s and r GPUs give, for the classes from worst to
// that of the cluster: those that the cluster around it does not fit.
func (c *tally) fit(d *hierarchy.Cluster, worst topology.Kind, s, r int) {
	for k := worst; len(d.Parts) > 0 && k <= d.Rank.Class; k++ {
		for shift := 1; s>>shift+r>>shift > 0; shift++ {
			c.inSet[k][shift] += s >> shift
			c.inRest[k][shift] += r >> shift
		}
	}
}

// oneIf returns 1 if b, and 0 otherwise.
func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// capability lists what was counted of so many GPUs, the most important first.
func (t *Solver) capability(c *fitCounts, gpus int) []key.Count {
	classes := t.dendrogram.classes
	if len(classes) > 1 {
		classes = classes[:len(classes)-1]
	}
	counts := []key.Count{}
	for _, k := range classes {
		for shift := key.Log2(gpus); shift > 0; shift-- {
			counts = append(counts, key.Count{Class: k, Size: 1 << shift, Sets: c[k][shift]})
		}
	}
	return counts
}
