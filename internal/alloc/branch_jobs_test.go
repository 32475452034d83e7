package alloc

import (
	"math/rand/v2"
	"testing"
)

// TestLeastJobs compares the least number of jobs with that of all sets.
func TestLeastJobs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(37, 1))
	for range rounds(1500) {
		g := graph(t, irregularNode(r, 4+r.IntN(9)))
		f := fabricOf(g)
		q := branchQuestion(r, g)
		q.scope = Any
		s := newSearch(f, q, MTF.key())
		s.reset()
		got := s.leastJobs(s.candidates(), q.n-len(q.required))
		least := impossible
		asked := q.sets()
		all := subsetsOf(asked.free&^asked.required&^asked.barred, q.n-len(q.required))
		for others, ok := all.first(); ok; others, ok = all.after(others) {
			rest := asked.free &^ others &^ asked.required
			least = min(least, f.buddies().jobs(func(gpu int) bool { return rest>>gpu&1 == 1 }))
		}
		if got != least {
			t.Fatalf("%+v: %d jobs at least, want %d", q, got, least)
		}
	}
}
