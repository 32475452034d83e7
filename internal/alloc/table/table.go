package table

import (
	"math/bits"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/alloc/hierarchy"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

const (
	// maxTable is the greatest number of GPUs for which every set gets a row.
	MaxGPUs = 16
	// maxComplete is the greatest number for which every answer is kept, too.
	MaxComplete = 8
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
	picks [key.NumObjectives]func() [][MaxComplete + 1]set
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
func countBits(size int) int { return bits.Len(uint(MaxGPUs / size)) }

// tableSolver builds its table when it is first needed.
type Solver struct{ load func() *table }

func New(s *link.Graph) *Solver {
	return &Solver{sync.OnceValue(func() *table { return buildTable(s) })}
}

// queryOf turns a question into one of sets.
func queryOf(q key.Question) query {
	return query{
		policy: q.Policy, scope: q.Scope, n: q.N,
		free: setOf(q.Free), required: setOf(q.Required), barred: setOf(q.Barred),
	}
}

func (s *Solver) Solve(q key.Question) (key.Solution, bool) {
	t := s.load()
	best := t.best(queryOf(q))
	if best == 0 {
		return key.Solution{}, false
	}
	return key.Solution{GPUs: best.gpus(), Class: t.facts[best].class, Method: "table"}, true
}

func (s *Solver) Figures(q key.Question, gpus []int) key.Candidate {
	t := s.load()
	asked := queryOf(q)
	v := t.valuer(asked)
	x := setOf(gpus)
	f, rest := t.facts[x], asked.free&^x
	c := key.Candidate{
		GPUs: gpus, Class: f.class, Capability: t.capability(x), Weight: int(f.weight),
		Rest: t.capability(rest), Cut: int(t.cut(x, rest)), Locality: int(f.locality),
	}
	switch q.Policy.Objective() {
	case key.ObjectiveWeighted:
		c.Score = float64(q.Policy.Score(int64(c.Weight), int64(c.Cut))) / 1000
	case key.ObjectiveMTF:
		c.Jobs = int(v.jobs[rest]) - int(v.jobs[asked.free])
	}
	return c
}

func buildTable(s *link.Graph) *table {
	t := &table{facts: make([]facts, 1<<s.Len()), twins: twinsOf(s)}
	t.sumPairs(s)
	t.countSets(s)
	t.jobs = sync.OnceValue(func() []uint8 { return t.countJobs(s) })
	for _, p := range []key.Policy{key.Spread, key.Binpack, key.MTF, key.First} {
		t.picks[p.Objective()] = sync.OnceValue(func() [][MaxComplete + 1]set { return t.complete(p) })
	}
	return t
}

// countJobs fills in jobs.
func (t *table) countJobs(s *link.Graph) []uint8 {
	root, _ := hierarchy.New(s)
	root = root.WithoutWeights()
	jobs := make([]uint8, len(t.facts))
	for free := range jobs {
		jobs[free] = uint8(root.Jobs(func(gpu int) bool { return free>>gpu&1 == 1 }))
	}
	return jobs
}

// sumPairs fills in what is a sum or a minimum over the pairs of a set. Take two
// members a, b: each pair but {a,b} is in the set without a or without b, and
// the pairs in both are those of the set without either.
func (t *table) sumPairs(s *link.Graph) {
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
		f.weight = withoutA.weight + withoutB.weight - without.weight + uint32(s.Weight(i, j))
		f.locality = withoutA.locality + withoutB.locality - without.locality + uint16(s.Locality(i, j))
		f.place = min(withoutA.place, withoutB.place, s.Locality(i, j))
	}
}

// countSets fills in class and capability. Every set fits the worst class, so
// that is never computed, and not counted unless it is the only one.
func (t *table) countSets(s *link.Graph) {
	for size := 1 << key.Log2(s.Len()); size > 1; size /= 2 {
		t.sizes = append(t.sizes, size)
	}
	t.classes = s.Classes()
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
func neighbours(s *link.Graph, c topology.Kind) []set {
	n := make([]set, s.Len())
	for i := range n {
		for j := range n {
			if i != j && s.Class(i, j) >= c {
				n[i] |= 1 << j
			}
		}
	}
	return n
}

// complete is the best set by a policy for every free set and number.
func (t *table) complete(p key.Policy) [][MaxComplete + 1]set {
	picks := make([][MaxComplete + 1]set, len(t.facts))
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
func (t *table) capability(s set) []key.Count {
	counts := []key.Count{}
	packed := t.facts[s].capability
	shift := len(t.classes) * t.width()
	for _, c := range t.classes {
		for _, size := range t.sizes {
			shift -= countBits(size)
			if size <= s.len() {
				counts = append(counts, key.Count{Class: c, Size: size, Sets: int(packed >> shift & (1<<countBits(size) - 1))})
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
