package alloc

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// sprout makes a node of n GPUs that mostly nests: a random tree whose vertices
// have a kind, a bandwidth and a place on the host, each no worse than that of
// the vertex above it, or nearly so. If asked to, it numbers the GPUs anew.
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
		node = relabel(node, r.Perm(n))
	}
	return node
}

// nested is a graph that nests, with what answers for it.
type nested struct {
	s     *scale
	root  *domain
	tree  *tree
	table *tableSolver
}

// nest is nil if the node does not nest, weighed by w.
func nest(t testing.TB, node gpu.Node, w Weights) *nested {
	t.Helper()
	g, _ := topology.New(node)
	s, err := newScale(g, w)
	if err != nil {
		t.Fatal(err)
	}
	root, nests := hierarchy(s)
	if !nests {
		return nil
	}
	n := &nested{s: s, root: root, tree: newTree(root)}
	if g.Len() <= maxTable {
		n.table = newTable(s)
	}
	return n
}

// inquire draws a question about a graph of so many GPUs.
func inquire(r *rand.Rand, gpus int) question {
	p := Policies()[r.IntN(len(Policies()))]
	if p.objective == weighted && r.IntN(2) == 0 {
		p, _ = Weighted(float64(r.IntN(3))/2, float64(1+r.IntN(2000))/1000) // both are within the bounds
	}
	perm := r.Perm(gpus)
	q := question{policy: p, free: perm[:1+r.IntN(gpus)]}
	if r.IntN(3) == 0 {
		q.free = perm
	}
	q.n = 1 + r.IntN(len(q.free))
	if r.IntN(3) == 0 {
		q.required = q.free[:r.IntN(q.n+1)]
	}
	if others := q.free[len(q.required):]; r.IntN(3) == 0 && len(q.free) > q.n {
		q.barred = slices.Sorted(slices.Values(others[:r.IntN(min(3, len(q.free)-q.n)+1)]))
	}
	if r.IntN(2) == 0 {
		q.scope = scopes[r.IntN(len(scopes))]
	}
	q.free, q.required = slices.Sorted(slices.Values(q.free)), slices.Sorted(slices.Values(q.required))
	return q
}

// bestOfAll looks at all sets that meet the question and compares the figures
// that the table has of them; nil if there is none.
func (n *nested) bestOfAll(q question) *Candidate {
	t := n.table.load()
	asked := queryOf(q)
	var best *Candidate
	all := subsetsOf(asked.free&^asked.required&^asked.barred, q.n-asked.required.len())
	for others, ok := all.first(); ok; others, ok = all.after(others) {
		s := others | asked.required
		if !t.within(q.scope, s) {
			continue
		}
		c := n.table.figures(q, s.gpus())
		if best == nil {
			best = &c
		} else if by, _ := preferred(q.policy, c, *best); by > 0 {
			best = &c
		}
	}
	return best
}

// TestTreeAgainstAllSets compares answers and figures with those found by looking
// at all sets, on random hierarchies. A tree answers several questions, as what
// it remembers of one must not show in another's answer.
func TestTreeAgainstAllSets(t *testing.T) {
	const batches = 16
	trees := rounds(700)
	for batch := range batches {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(21, uint64(batch)))
			for done := 0; done < trees; {
				gpus := 1 + r.IntN(8)
				if r.IntN(40) == 0 {
					gpus = 9 + r.IntN(4)
				}
				n := nest(t, sprout(r, gpus, r.IntN(2) == 0), allWeights[r.IntN(len(allWeights))])
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
func (n *nested) check(t *testing.T, q question) {
	t.Helper()
	want := n.bestOfAll(q)
	got, ok := n.tree.solve(q)
	switch {
	case ok != (want != nil):
		t.Fatalf("%s, %+v: %v, %v; want %v", sketch(n.root), q, got, ok, want)
	case !ok:
		return
	case got.bounded || got.method != "tree" || got.class != want.Class:
		t.Fatalf("%s, %+v: %+v; want class %v", sketch(n.root), q, got, want.Class)
	}
	if diff := cmp.Diff(*want, n.tree.figures(q, got.gpus)); diff != "" {
		t.Fatalf("%s, %+v (-want +got):\n%s", sketch(n.root), q, diff)
	}
}

// TestTreeAgainstTable compares with the table's answers for all free sets and
// numbers.
func TestTreeAgainstTable(t *testing.T) {
	all := nodes()
	compared := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		n := nest(t, all[name], KindWeights)
		if n == nil {
			continue
		}
		compared++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, policy := range Policies() {
				for free := set(1); int(free) < 1<<n.s.g.Len(); free++ {
					for k := 1; k <= free.len(); k++ {
						q := question{n: k, free: free.gpus(), policy: policy}
						want, _ := n.table.solve(q)
						if got, _ := n.tree.solve(q); !slices.Equal(got.gpus, want.gpus) || got.class != want.class {
							t.Fatalf("%+v: %v %v, want %v %v", q, got.class, got.gpus, want.class, want.gpus)
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
