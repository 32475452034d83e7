// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/table"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// sprout makes a node of n GPUs that usually nests: a random tree whose vertices have a kind,
// a bandwidth and a place on the host, usually no worse than those of the vertex above.
// With shuffle, it renumbers the GPUs.
func sprout(r *rand.Rand, n int, shuffle bool) gpu.Node {
	node := gpu.NewNode("sprouted")
	for i := range n {
		node.GPUs = append(node.GPUs, gpu.GPU{Index: i, Healthy: true, NUMA: gpu.NUMAUnknown})
	}
	kinds := topology.Kinds()
	slices.Reverse(kinds)
	stated := r.IntN(4) > 0 // where the GPUs sit
	numa, bus := 0, 0
	var grow func(from, to, kind, host int, gbps float64)
	grow = func(from, to, kind, host int, gbps float64) {
		for _, level := range []int{1, 2} { // 1 is a NUMA node, 2 a switch
			if host >= level || !stated || to-from > 1 && r.IntN(3) > 0 {
				continue
			}
			host = level
			numa, bus = numa+1, bus+1
			for i := from; i < to; i++ {
				if level == 1 {
					node.GPUs[i].NUMA = numa
				} else {
					node.GPUs[i].PCIeSwitch = &gpu.BDF{Domain: uint32(bus)}
				}
			}
		}
		if to-from < 2 {
			return
		}
		kind = min(kind+r.IntN(3), len(kinds)-1)
		gbps += float64(r.IntN(3))
		if r.IntN(5) == 0 {
			gbps = float64(r.IntN(20))
		}
		parts := 2 + r.IntN(min(to-from-1, 4))
		cuts := []int{from, to}
		for range parts - 1 {
			cuts = append(cuts, from+r.IntN(to-from))
		}
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		if len(cuts) == 2 {
			cuts = []int{from, from + 1, to}
		}
		for p := range len(cuts) - 1 {
			for i := cuts[p]; i < cuts[p+1]; i++ {
				for j := cuts[p+1]; j < to; j++ {
					node.Links = append(node.Links, gpu.Link{A: i, B: j, Kind: kinds[kind].String(), GBps: gbps})
				}
			}
			grow(cuts[p], cuts[p+1], kind, host, gbps)
		}
	}
	grow(0, n, r.IntN(4), 0, 0)
	if shuffle {
		node = alloctest.Relabel(node, r.Perm(n))
	}
	return node
}

// nested is a graph that nests, with its solvers.
type nested struct {
	g     *topology.Graph
	s     *link.Graph
	root  *hierarchy.Cluster
	tree  *Solver
	table *table.Solver
}

// nest is nil if the node does not nest, weighed by w.
func nest(t testing.TB, node gpu.Node, w link.Weights) *nested {
	t.Helper()
	g, _ := topology.New(node)
	s, err := link.New(g, w)
	if err != nil {
		t.Fatal(err)
	}
	root, nests := hierarchy.New(s)
	if !nests {
		return nil
	}
	n := &nested{g: g, s: s, root: root, tree: New(root)}
	if g.Len() <= table.MaxGPUs {
		n.table = table.New(s)
	}
	return n
}

// inquire draws a question about a graph of so many GPUs.
func inquire(r *rand.Rand, gpus int) key.Question {
	p := alloctest.Policies()[r.IntN(len(alloctest.Policies()))]
	if p.Objective() == key.ObjectiveWeighted && r.IntN(2) == 0 {
		p, _ = key.Weighted(float64(r.IntN(3))/2, float64(1+r.IntN(2000))/1000) // both are within the bounds
	}
	perm := r.Perm(gpus)
	q := key.Question{Policy: p, Free: perm[:1+r.IntN(gpus)]}
	if r.IntN(3) == 0 {
		q.Free = perm
	}
	q.N = 1 + r.IntN(len(q.Free))
	if r.IntN(3) == 0 {
		q.Required = q.Free[:r.IntN(q.N+1)]
	}
	if others := q.Free[len(q.Required):]; r.IntN(3) == 0 && len(q.Free) > q.N {
		q.Excluded = slices.Sorted(slices.Values(others[:r.IntN(min(3, len(q.Free)-q.N)+1)]))
	}
	if r.IntN(2) == 0 {
		q.Scope = key.Scopes[r.IntN(len(key.Scopes))]
	}
	q.Free, q.Required = slices.Sorted(slices.Values(q.Free)), slices.Sorted(slices.Values(q.Required))
	return q
}

// bestOfAll looks at all sets that meet the question and compares the figures that the table
// has of them; nil if no set does.
func (n *nested) bestOfAll(q key.Question) *key.Candidate {
	var best *key.Candidate
	for _, gpus := range subsets(q.Free, q.N) {
		c := n.table.Figures(q, gpus)
		if !n.meets(q, c) {
			continue
		}
		if best == nil {
			best = &c
		} else if by, _ := key.Compare(q.Policy.Key(), c, *best); by > 0 {
			best = &c
		}
	}
	return best
}

// subsets are those of n GPUs, in the order of their indices.
func subsets(gpus []int, n int) (all [][]int) {
	if n == 0 {
		return [][]int{{}}
	}
	for i := range len(gpus) - n + 1 {
		for _, others := range subsets(gpus[i+1:], n-1) {
			all = append(all, append([]int{gpus[i]}, others...))
		}
	}
	return all
}

// TestTreeAgainstAllSets compares answers and figures with those found by looking at all sets,
// on random hierarchies. A tree answers several questions, as what it remembers of one must
// not show in another's answer.
func TestTreeAgainstAllSets(t *testing.T) {
	const batches = 16
	trees := alloctest.Rounds(700)
	for batch := range batches {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(21, uint64(batch)))
			for done := 0; done < trees; {
				gpus := 1 + r.IntN(8)
				if r.IntN(40) == 0 {
					gpus = 9 + r.IntN(4)
				}
				n := nest(t, sprout(r, gpus, r.IntN(2) == 0), link.AllWeights[r.IntN(len(link.AllWeights))])
				if n == nil {
					continue
				}
				done++
				for range 4 {
					n.check(t, inquire(r, gpus))
				}
			}
		})
	}
}

// check compares an answer and its figures with those of all sets.
func (n *nested) check(t *testing.T, q key.Question) {
	t.Helper()
	want := n.bestOfAll(q)
	got, ok := n.tree.Solve(q)
	switch {
	case ok != (want != nil):
		t.Fatalf("%+v: %v, %v; want %v", q, got, ok, want)
	case !ok:
		return
	case got.Bounded || got.Method != "tree" || got.Class != want.Class:
		t.Fatalf("%+v: %+v; want class %v", q, got, want.Class)
	}
	if diff := cmp.Diff(*want, n.tree.Figures(q, got.GPUs)); diff != "" {
		t.Fatalf("%+v (-want +got):\n%s", q, diff)
	}
}

// TestTreeAgainstTable compares with the table's answers for all free sets and
// numbers.
func TestTreeAgainstTable(t *testing.T) {
	all := alloctest.Nodes()
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		n := nest(t, all[name], link.KindWeights)
		if n == nil {
			continue
		}
		compared++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, policy := range alloctest.Policies() {
				for mask := 1; mask < 1<<n.s.Len(); mask++ {
					var free []int
					for gpu := range n.s.Len() {
						if mask>>gpu&1 == 1 {
							free = append(free, gpu)
						}
					}
					for k := 1; k <= len(free); k++ {
						q := key.Question{N: k, Free: free, Policy: policy}
						want, _ := n.table.Solve(q)
						if got, _ := n.tree.Solve(q); !slices.Equal(got.GPUs, want.GPUs) || got.Class != want.Class {
							t.Fatalf("%+v: %v %v, want %v %v", q, got.Class, got.GPUs, want.Class, want.GPUs)
						}
					}
				}
			}
		})
	}
	if compared < 10 {
		t.Errorf("only %d of the nodes nest", compared)
	}
}
