package alloc

import (
	"math/bits"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

const (
	// maxTable is the greatest number of GPUs for which every set gets a row.
	maxTable = 16
	// maxComplete is the greatest number for which every answer is kept, too.
	maxComplete = 8
)

// table holds the facts of every set of GPUs of a graph, and answers by looking
// at each set that could be meant. What single policies need besides is worked
// out when it is first asked for.
type table struct {
	classes []topology.Kind // those that capability counts, best first
	sizes   []int           // those that capability counts, greatest first
	facts   []facts         // by set
	twins   []set           // GPUs that nothing but their indices tells apart
	// picks is the best set for each policy without parameters, by free set and
	// number; only up to maxComplete GPUs.
	picks [numObjectives]func() [][maxComplete + 1]set
	// jobs is how many jobs fill a free set, as MTF counts.
	jobs func() []uint8
}

// facts is what the key asks of one set.
type facts struct {
	// capability packs the counts, the most important highest, in countBits
	// each. That is 10 bits for a class, and at most five of the six classes
	// count: for sets of one size, its order is the lexicographic one.
	capability uint64
	weight     uint32
	locality   uint16
	class      topology.Kind
	place      topology.Locality // of the two members farthest apart
}

// countBits is the width of a count of disjoint sets of that size.
func countBits(size int) int { return bits.Len(uint(maxTable / size)) }

// tableSolver builds its table when it is first needed.
type tableSolver struct{ load func() *table }

func newTable(s *scale) *tableSolver {
	return &tableSolver{sync.OnceValue(func() *table { return buildTable(s) })}
}

// queryOf turns a question into one of sets.
func queryOf(q question) query {
	return query{
		policy: q.policy, scope: q.scope, n: q.n,
		free: setOf(q.free), required: setOf(q.required), barred: setOf(q.barred),
	}
}

func (s *tableSolver) solve(q question) (solution, bool) {
	t := s.load()
	best := t.best(queryOf(q))
	if best == 0 {
		return solution{}, false
	}
	return solution{gpus: best.gpus(), class: t.facts[best].class, method: "table"}, true
}

func (s *tableSolver) figures(q question, gpus []int) Candidate {
	t := s.load()
	asked := queryOf(q)
	v := t.valuer(asked)
	x := setOf(gpus)
	f, rest := t.facts[x], asked.free&^x
	c := Candidate{
		GPUs: gpus, Class: f.class, Capability: t.capability(x), Weight: int(f.weight),
		Rest: t.capability(rest), Cut: int(t.cut(x, rest)), Locality: int(f.locality),
	}
	switch q.policy.objective {
	case weighted:
		c.Score = float64(q.policy.score(int64(c.Weight), int64(c.Cut))) / 1000
	case mtf:
		c.Jobs = int(v.jobs[rest]) - int(v.jobs[asked.free])
	}
	return c
}

func buildTable(s *scale) *table {
	t := &table{facts: make([]facts, 1<<s.g.Len()), twins: twinsOf(s)}
	t.sumPairs(s)
	t.countSets(s)
	t.jobs = sync.OnceValue(func() []uint8 { return t.countJobs(s) })
	for o := range t.picks {
		t.picks[o] = sync.OnceValue(func() [][maxComplete + 1]set { return t.complete(Policy{objective: objective(o)}) })
	}
	return t
}

// countJobs fills in jobs.
func (t *table) countJobs(s *scale) []uint8 {
	root, _ := hierarchy(s)
	root = root.regardless()
	jobs := make([]uint8, len(t.facts))
	for free := range jobs {
		jobs[free] = uint8(root.jobs(func(gpu int) bool { return free>>gpu&1 == 1 }))
	}
	return jobs
}

// sumPairs fills in what is a sum or a minimum over the pairs of a set. Take two
// members a, b: each pair but {a,b} is in the set without a or without b, and
// the pairs in both are those of the set without either.
func (t *table) sumPairs(s *scale) {
	for i := range t.facts {
		x := set(i)
		f := &t.facts[x]
		f.place = topology.SameSwitch
		if x.len() < 2 {
			f.class = topology.MX
			continue
		}
		a := x.first()
		b := (x &^ a).first()
		i, j := a.index(), b.index()
		withoutA, withoutB, without := &t.facts[x&^a], &t.facts[x&^b], &t.facts[x&^a&^b]
		f.weight = withoutA.weight + withoutB.weight - without.weight + uint32(s.weight(i, j))
		f.locality = withoutA.locality + withoutB.locality - without.locality + uint16(s.place(i, j))
		f.place = min(withoutA.place, withoutB.place, s.place(i, j))
	}
}

// countSets fills in class and capability. Every set fits the worst class, so
// that is never computed, and not counted unless it is the only one.
func (t *table) countSets(s *scale) {
	for size := 1 << power(s.g.Len()); size > 1; size /= 2 {
		t.sizes = append(t.sizes, size)
	}
	t.classes = s.classes()
	if last := len(t.classes) - 1; last > 0 {
		for x := range t.facts {
			t.facts[x].class = max(t.facts[x].class, t.classes[last])
		}
		t.classes = t.classes[:last]
	}
	for _, c := range t.classes {
		fit := fits(neighbours(s, c))
		for x := range fit {
			if fit[x] {
				t.facts[x].class = max(t.facts[x].class, c)
			}
		}
		for _, size := range t.sizes {
			for x, most := range packings(fit, size) {
				f := &t.facts[x]
				f.capability = f.capability<<countBits(size) | uint64(most)
			}
		}
	}
}

// neighbours are, for each GPU, those that a link of class c or better joins it
// with.
func neighbours(s *scale, c topology.Kind) []set {
	n := make([]set, s.g.Len())
	for i := range n {
		for j := range n {
			if i != j && s.class(i, j) >= c {
				n[i] |= 1 << j
			}
		}
	}
	return n
}

// complete is the best set by a policy for every free set and number.
func (t *table) complete(p Policy) [][maxComplete + 1]set {
	picks := make([][maxComplete + 1]set, len(t.facts))
	for free := range picks {
		q := query{policy: p, free: set(free)}
		for q.n = 1; q.n <= q.free.len(); q.n++ {
			picks[free][q.n] = t.search(q)
		}
	}
	return picks
}

// capability unpacks the counts of a set, the most important first; sizes
// greater than the set are left out.
func (t *table) capability(s set) []Count {
	counts := []Count{}
	packed := t.facts[s].capability
	shift := len(t.classes) * t.width()
	for _, c := range t.classes {
		for _, size := range t.sizes {
			shift -= countBits(size)
			if size <= s.len() {
				counts = append(counts, Count{Class: c, Size: size, Sets: int(packed >> shift & (1<<countBits(size) - 1))})
			}
		}
	}
	return counts
}

// width is the number of bits that the counts of one class take.
func (t *table) width() (w int) {
	for _, size := range t.sizes {
		w += countBits(size)
	}
	return w
}
