package rival

import (
	"maps"
	"math/bits"
	"runtime"
	"slices"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

// Limit bounds a comparison. What it leaves out depends on the questions alone, never on how
// fast they are answered.
type Limit struct {
	Sets int // of free GPUs, for each node
	// Work is how many steps an allocator that tries everything gets for all questions of a node
	// with as many GPUs free and as many requested. The first ones that fit are put to it.
	Work float64
	// Single is how many steps it gets for the question with all GPUs free.
	Single float64
}

// Comparison is what all allocators made of the same questions.
type Comparison struct {
	Node      string `json:"node"`
	GPUs      int    `json:"gpus"`
	Weights   string `json:"weights"`
	Sets      int    `json:"sets"`
	Questions int    `json:"questions"` // a set of free GPUs and a number asked for
	// Common is how many of them were put to all allocators. The others would take one of them
	// too long; whatever is compared is compared without those.
	Common  int      `json:"common"`
	Records []Record `json:"records"`
}

// Record is what one allocator made of them.
type Record struct {
	Allocator string `json:"allocator"`
	// Took is the time of a pick, Allocations how often it allocates; of one that prepares
	// something, after its first.
	Took        figure.Summary `json:"took"`
	Allocations figure.Summary `json:"allocations"`
	// All is the time of all questions, common or not; nil if not all were put to it.
	All *figure.Summary `json:"all,omitempty"`
	// First is the time that it takes to make the allocator and pick once, with all GPUs free;
	// nil for one that prepares nothing.
	First            *figure.Summary `json:"first,omitempty"`
	FirstAllocations *figure.Summary `json:"firstAllocations,omitempty"`
	// AllFree is the time of a pick with all GPUs free, in nanoseconds, by how many are asked
	// for; 0 where it was left out.
	AllFree []float64 `json:"allFree"`

	// Of the common questions, all of which can be met:
	Asked  int `json:"asked"`
	None   int `json:"none"`   // no GPU at all
	Wrong  int `json:"wrong"`  // not that many different free GPUs
	Panics int `json:"panics"` // no answer at all
	// By NVIDIA's aim, the most that the partition scores; Best with the set that is too small
	// if the number does not divide, BestFull without it.
	Best     int `json:"best"`
	BestFull int `json:"bestFull"`
	// By ours: another set has a ring of a better class, or is better in whatever comes first.
	LowerClass int `json:"lowerClass"`
	Lower      int `json:"lower"`
}

// Right is how many answers were that many different free GPUs.
func (r Record) Right() int { return r.Asked - r.None - r.Wrong - r.Panics }

// firstRuns is how often the first pick is measured for each number requested.
const firstRuns = 5

// Compare asks all allocators for every number of GPUs out of the node's sets.
func Compare(n Node, limit Limit) (Comparison, error) {
	all, err := allocators(n)
	if err != nil {
		return Comparison{}, err
	}
	j, err := newJudge(n)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{Node: n.Name, GPUs: n.GPUs, Weights: n.Weights.String()}
	sets := n.free(limit.Sets)
	c.Sets = len(sets)
	tallies := make([]tally, len(all))
	for i := range all {
		tallies[i].Record = Record{Allocator: all[i].name, AllFree: make([]float64, n.GPUs+1)}
	}
	for k := 1; k <= n.GPUs; k++ {
		enough := slices.DeleteFunc(slices.Clone(sets), func(s uint32) bool { return bits.OnesCount32(s) < k })
		c.Questions += len(enough)
		j.of(k)
		chosen, common := limit.choose(all, enough, k)
		c.Common += len(common)
		for turn := range all {
			// Each begins as often as the others, whatever one leaves behind.
			i := (turn + k) % len(all)
			if err := tallies[i].run(all[i], j, chosen[i], common); err != nil {
				return Comparison{}, err
			}
		}
	}
	for i := range tallies {
		c.Records = append(c.Records, tallies[i].record(c.Questions))
	}
	return c, nil
}

// choose returns the sets that each allocator is asked about, and those common to all.
func (l Limit) choose(all []allocator, sets []uint32, k int) (chosen [][]uint32, common map[uint32]bool) {
	asked := map[uint32]int{}
	for _, a := range all {
		of := l.affordable(a, sets, k)
		for _, s := range of {
			asked[s]++
		}
		chosen = append(chosen, of)
	}
	maps.DeleteFunc(asked, func(_ uint32, n int) bool { return n < len(all) })
	common = map[uint32]bool{}
	for s := range asked {
		common[s] = true
	}
	return chosen, common
}

// affordable leaves out what is too much work.
func (l Limit) affordable(a allocator, sets []uint32, k int) []uint32 {
	if a.work == nil {
		return sets
	}
	spent := map[int]float64{} // by how many GPUs are free
	var chosen []uint32
	for i, s := range sets {
		free := bits.OnesCount32(s)
		steps := a.work(free, k)
		if all := i == 0; all && steps > l.Single || !all && spent[free]+steps > l.Work {
			continue
		}
		spent[free] += steps
		chosen = append(chosen, s)
	}
	return chosen
}

// tally is a Record in the making.
type tally struct {
	Record
	times, allocations           []float64 // of the common questions
	all                          []float64 // times of all that it was asked
	firstTimes, firstAllocations []float64
}

// run requests as many GPUs as the judge is turned to, out of each of the sets, which hold the
// common ones.
func (t *tally) run(a allocator, j *judge, sets []uint32, common map[uint32]bool) error {
	if a.first != nil {
		if err := t.runFirst(a, j.k); err != nil {
			return err
		}
		a.ask(1<<j.node.GPUs-1, j.k).pick()
	}
	runtime.GC()
	for _, free := range sets {
		q := a.ask(free, j.k)
		r := clock(q.pick)
		t.all = append(t.all, r.ns)
		if free == 1<<j.node.GPUs-1 {
			t.AllFree[j.k] = r.ns
		}
		if !common[free] {
			continue
		}
		t.Asked++
		t.times, t.allocations = append(t.times, r.ns), append(t.allocations, r.allocations)
		if r.panicked {
			t.Panics++
			continue
		}
		best, err := j.best(free)
		if err != nil {
			return err
		}
		v, err := j.judge(free, q.answer(), best)
		if err != nil {
			return err
		}
		t.count(v)
	}
	return nil
}

func (t *tally) count(v verdict) {
	for _, c := range []struct {
		is   bool
		many *int
	}{
		{v.none, &t.None},
		{v.wrong, &t.Wrong},
		{v.best, &t.Best},
		{v.bestFull, &t.BestFull},
		{v.lowerClass, &t.LowerClass},
		{v.lower, &t.Lower},
	} {
		if c.is {
			*c.many++
		}
	}
}

func (t *tally) runFirst(a allocator, k int) error {
	runtime.GC()
	for range firstRuns {
		var err error
		before := mallocs()
		took, panicked := once(func() { err = a.first(k) })
		t.firstAllocations = append(t.firstAllocations, float64(mallocs()-before))
		if panicked || err != nil {
			return &firstError{a.name, k, err}
		}
		t.firstTimes = append(t.firstTimes, float64(took))
	}
	return nil
}

// record sums up; so many questions there were.
func (t *tally) record(questions int) Record {
	r := t.Record
	if len(t.all) > 0 && len(t.all) == questions {
		all := figure.Summarise(figure.Nanoseconds, t.all)
		r.All = &all
	}
	if len(t.times) > 0 {
		r.Took = figure.Summarise(figure.Nanoseconds, t.times)
		r.Allocations = figure.Summarise(figure.Count, t.allocations)
	}
	if len(t.firstTimes) > 0 {
		took := figure.Summarise(figure.Nanoseconds, t.firstTimes)
		allocations := figure.Summarise(figure.Count, t.firstAllocations)
		r.First, r.FirstAllocations = &took, &allocations
	}
	return r
}
