package alloc

import (
	"math/rand/v2"
	"testing"
)

// netOf is the graph of pairs of a class or better, as a net without a limit.
func netOf(f *fabric, class int) *net {
	work := 1 << 40
	n := &net{work: &work}
	copy(n.links[:], f.joined[class].bits)
	return n
}

// TestRingsOfSmallGraphs compares all that is counted of every set with the
// tables, which know it by going through all of them.
func TestRingsOfSmallGraphs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(29, 1))
	for range rounds(60) {
		g := graph(t, irregularNode(r, 4+r.IntN(8)))
		f := fabricOf(g)
		for class, kind := range f.kinds {
			fit := fits(neighbours(g, kind))
			n := netOf(f, class)
			c := newCounter(f, 1<<40)
			most := map[int][]uint8{2: packings(fit, 2), 4: packings(fit, 4), 8: packings(fit, 8)}
			for range rounds(200) {
				x := r.IntN(len(fit))
				if got := n.spans(uint64(x)); (got == yes) != fit[x] || got == perhaps {
					t.Fatalf("%v: set %b spans %v, want %v", f.joined[class], x, got, fit[x])
				}
				for size, want := range most {
					got := c.count(vertices{uint64(x)}, class, size, 99)
					if got != (span{int(want[x]), int(want[x])}) {
						t.Fatalf("%v: set %b holds %v of %d, want %d", f.joined[class], x, got, size, want[x])
					}
				}
			}
		}
	}
}

// TestLimitedCounts lets a count end anywhere: what it says must hold.
func TestLimitedCounts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(29, 2))
	for range rounds(300) {
		g := graph(t, random(r, 12, 3))
		f := fabricOf(g)
		fit := fits(neighbours(g, f.kinds[0]))
		for _, size := range []int{4, 8} {
			most := packings(fit, size)
			for work := 0; work < 2000; work += 1 + work {
				c := newCounter(f, work)
				c.each = work
				for range 5 {
					x := r.IntN(len(most))
					if got := c.count(vertices{uint64(x)}, 0, size, 99); got.low > int(most[x]) || got.high < int(most[x]) {
						t.Fatalf("set %b holds %v of %d, and %d are right (work %d)", x, got, size, most[x], work)
					}
				}
			}
		}
	}
}

// TestMatching compares greatest matchings on graphs of odd rings with the table.
func TestMatching(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(29, 3))
	m := newMatcher(12)
	for range rounds(400) {
		pairs := newRelation(12)
		rows := make([]set, 12)
		for i := range 12 {
			for j := range i {
				if r.IntN(5) == 0 {
					pairs.relate(i, j)
					rows[i] |= 1 << j
					rows[j] |= 1 << i
				}
			}
		}
		most := packings(fits(rows), 2)
		for range 20 {
			x := vertices{uint64(r.IntN(1 << 12))}
			count, _, paired := m.match(pairs, x)
			if count != int(most[x[0]]) || paired.len() != 2*count || !paired.within(x) {
				t.Fatalf("%v: %b has %d pairs %b, want %d", pairs.bits, x, count, paired, most[x[0]])
			}
		}
	}
}

// TestGatheredRings checks the rings found in graphs too large for a net.
func TestGatheredRings(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(29, 4))
	for _, n := range []int{65, 130, 300} {
		f := fabricOf(graph(t, random(r, n, 5)))
		for class := range f.counted {
			work := 1 << 30
			finder := ringFinder{f.joined[class], &work}
			x := newVertices(f.words)
			for i := range n {
				x.add(i)
			}
			for size := 4; size <= n; size *= 2 {
				rings, taken := finder.gather(nil, x, size)
				again, same := finder.gather(rings, x, size)
				if len(again) < len(rings) || !taken.within(same) || len(rings) == 0 {
					t.Errorf("%d GPUs, class %d: %d rings of %d, then %d", n, class, len(rings), size, len(again))
				}
				seen := newVertices(f.words)
				for _, ring := range rings {
					for _, g := range ring {
						if seen.has(g) {
							t.Fatalf("GPU %d is in two rings", g)
						}
						seen.add(g)
					}
					if len(ring) != size || size <= maxNet && finder.net(ring).spans(1<<size-1) != yes {
						t.Errorf("%v is no ring of %d", ring, size)
					}
				}
			}
		}
	}
}
