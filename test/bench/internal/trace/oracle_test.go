package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
)

// begun is when a job began, and on what.
type begun struct {
	Job  int
	At   Time
	GPUs []int
}

// oracle runs a trace by looking at every millisecond and at every job in it. Each
// lasts at least one.
func oracle(t *testing.T, picker *alloc.Picker, p key.Policy, gpus []int, jobs []Job, o Options) (starts []begun) {
	t.Helper()
	fits := func(free []int, n int) ([]int, bool) {
		a, err := picker.Pick(alloc.Request{N: n, Free: free, Policy: p, Scope: o.Scope})
		return a.GPUs, err == nil
	}
	ever := map[int]bool{}
	for _, j := range jobs {
		_, ever[j.GPUs] = fits(gpus, j.GPUs)
	}
	const waits, runs, over = 0, 1, 2
	state, end, on := make([]int, len(jobs)), make([]Time, len(jobs)), make([][]int, len(jobs))
	free := slices.Clone(gpus)
	for left, now := len(jobs), Time(0); left > 0; now++ {
		for i := range jobs {
			if state[i] == runs && end[i] == now {
				state[i], free = over, append(free, on[i]...)
				left--
			}
		}
		slices.Sort(free)
		for i, j := range jobs {
			if state[i] != waits || j.Arrival > now {
				continue
			}
			if !ever[j.GPUs] {
				state[i] = over
				left--
				continue
			}
			if got, ok := fits(free, j.GPUs); ok {
				starts = append(starts, begun{i, now, got})
				state[i], end[i], on[i] = runs, now+j.Duration, got
				free = slices.DeleteFunc(free, func(g int) bool { return slices.Contains(got, g) })
				continue
			}
			if o.Patience != nil && j.Arrival+*o.Patience <= now {
				state[i] = over
				left--
				continue
			}
			if !o.Backfill {
				break
			}
		}
	}
	return starts
}

// Random traces run as the oracle says, and nothing is lost or given twice.
func TestAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	nodes := []string{"c500-8", "c550-8", "pairs", "hurt", "lost", "large"}
	pickers, healthy := map[string]*alloc.Picker{}, map[string][]int{}
	for _, node := range nodes {
		pickers[node], healthy[node] = simulated(t, node)
	}
	for round := range 600 {
		node := nodes[r.IntN(len(nodes))]
		picker, gpus := pickers[node], healthy[node]
		jobs := make([]Job, r.IntN(40))
		for i := range jobs {
			jobs[i] = Job{Arrival: Time(r.IntN(60)), GPUs: 1 + r.IntN(len(gpus)+1), Duration: Time(1 + r.IntN(20))}
		}
		sortTrace(jobs)
		o := Options{Backfill: r.IntN(2) == 0, Scope: []key.Scope{key.Any, key.Link, key.NUMA}[r.IntN(3)], Timeline: true}
		if r.IntN(2) == 0 {
			patience := Time(r.IntN(30))
			o.Patience = &patience
		}
		if len(jobs) > 0 {
			jobs[0].Arrival = 0 // the oracle's clock does not count from the first arrival
		}
		policies := alloc.Policies()
		if node == "large" { // where some take long
			policies = []key.Policy{key.Spread, key.Binpack, key.First}
		}
		policy := policies[r.IntN(len(policies))]
		name := fmt.Sprintf("round %d, %s, %v, %+v", round, node, policy, o)

		run := newRun(picker, policy, gpus, jobs, o)
		starts := []begun{}
		run.started = func(r running) { starts = append(starts, begun{r.job, r.end - jobs[r.job].Duration, r.gpus}) }
		if err := run.all(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(append([]begun{}, oracle(t, picker, policy, gpus, jobs, o)...), starts); diff != "" {
			t.Fatalf("%s: %v (-oracle +got):\n%s", name, jobs, diff)
		}
		conserves(t, name, run, gpus, jobs, starts)
		if t.Failed() {
			return
		}
	}
}

// conserves holds a run that is over to what must be so, whatever the policy.
func conserves(t *testing.T, name string, r *run, gpus []int, jobs []Job, starts []begun) {
	t.Helper()
	result := r.tally.result("", len(gpus), r.now)
	if result.Jobs != len(jobs) || result.Started != len(starts) {
		t.Errorf("%s: %d jobs of which %d started; want %d, %d", name, result.Jobs, result.Started, len(jobs), len(starts))
	}
	if !slices.Equal(r.free, gpus) || len(r.ends) > 0 || r.queue.n > 0 {
		t.Errorf("%s: at the end %v are free, %d jobs run and %d wait", name, r.free, len(r.ends), r.queue.n)
	}
	work, last := 0.0, Time(0)
	if len(jobs) > 0 {
		last = jobs[len(jobs)-1].Arrival
	}
	for i, s := range starts {
		end := s.At + jobs[s.Job].Duration
		work += float64(len(s.GPUs)) * float64(jobs[s.Job].Duration)
		last = max(last, end)
		if len(s.GPUs) != jobs[s.Job].GPUs {
			t.Errorf("%s: job %d got %v, want %d", name, s.Job, s.GPUs, jobs[s.Job].GPUs)
		}
		for _, other := range starts[:i] {
			if other.At+jobs[other.Job].Duration > s.At && slices.ContainsFunc(s.GPUs, func(g int) bool { return slices.Contains(other.GPUs, g) }) {
				t.Errorf("%s: jobs %d and %d have a GPU in common at %v", name, other.Job, s.Job, s.At)
			}
		}
	}
	if r.tally.busy != work || result.Makespan != last {
		t.Errorf("%s: %v GPU-milliseconds until %v; the jobs had %v until %v", name, r.tally.busy, result.Makespan, work, last)
	}
	var sum sums
	for _, s := range r.course.steps {
		sum = sum.plus(s)
	}
	if sum.busy != work || math.Abs(sum.fragmented-r.tally.fragmented) > 1e-6 {
		t.Errorf("%s: the steps hold %v and %v, the run %v and %v", name, sum.busy, sum.fragmented, work, r.tally.fragmented)
	}
}
