package trace

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// five are jobs for two quads. By spread the first two take 0,1,2 and 4,5,6 and
// leave 3 and 7, by first 0,1,2 and 3,4,5; the fourth cannot start before they end.
var five = []Job{
	{Name: "a", Arrival: 100 * Second, GPUs: 3, Duration: 10 * Second},
	{Name: "b", Arrival: 100 * Second, GPUs: 3, Duration: 10 * Second},
	{Name: "c", Arrival: 101 * Second, GPUs: 2, Duration: 5 * Second},
	{Name: "d", Arrival: 102 * Second, GPUs: 4, Duration: 10 * Second},
	{Name: "e", Arrival: 103 * Second, GPUs: 1, Duration: 1 * Second},
}

func linked(mx, sys int) []ClassCount {
	counts := []ClassCount{{topology.MX, mx}, {topology.SYS, sys}}
	if sys == 0 {
		return counts[:1]
	}
	return counts
}

func TestCompare(t *testing.T) {
	patience := func(t Time) *Time { return &t }
	for name, c := range map[string]struct {
		node    string
		policy  key.Policy
		options Options
		jobs    []Job
		want    Result
	}{
		// 3 and 7 are free from 0 to 1 and, c having ended, from 6 to 10: 5 of 20
		// seconds at fragmentation 1.
		"spread": {"c500-8", key.Spread, Options{}, five, Result{
			Jobs: 5, Started: 5, Acceptance: 1, Linked: 0.75, Classes: linked(3, 1),
			WaitMean: 3 * Second, WaitMedian: 0, WaitP95: 8 * Second, Makespan: 20 * Second, Utilisation: 0.69375, Fragmentation: 0.25,
		}},
		// b is on both quads, and what is free never is.
		"first": {"c500-8", key.First, Options{}, five, Result{
			Jobs: 5, Started: 5, Acceptance: 1, Linked: 0.75, Classes: linked(3, 1),
			WaitMean: 3 * Second, WaitMedian: 0, WaitP95: 8 * Second, Makespan: 20 * Second, Utilisation: 0.69375,
		}},
		// e passes d when c ends, and takes one of the two free GPUs for a second.
		"backfill": {"c500-8", key.Spread, Options{Backfill: true}, five, Result{
			Jobs: 5, Started: 5, Acceptance: 1, Linked: 0.75, Classes: linked(3, 1),
			WaitMean: 2200, WaitMedian: 0, WaitP95: 8 * Second, Makespan: 20 * Second, Utilisation: 0.69375, Fragmentation: 0.2,
		}},
		// d leaves after 5 of the 8 seconds that it would have to wait, at 7, when e
		// starts.
		"patience": {"c500-8", key.First, Options{Patience: patience(5 * Second)}, five, Result{
			Jobs: 5, Started: 4, GaveUp: 1, Acceptance: 0.8, Linked: 0.666667, Classes: linked(2, 1),
			WaitMean: Second, WaitMedian: 0, WaitP95: 4 * Second, Makespan: 10 * Second, Utilisation: 0.8875,
		}},
		// At 8 seconds a and b end before d gives up.
		"just enough patience": {"c500-8", key.First, Options{Patience: patience(8 * Second)}, five, Result{
			Jobs: 5, Started: 5, Acceptance: 1, Linked: 0.75, Classes: linked(3, 1),
			WaitMean: 3 * Second, WaitMedian: 0, WaitP95: 8 * Second, Makespan: 20 * Second, Utilisation: 0.69375,
		}},
		"no queue": {"c500-8", key.First, Options{Patience: patience(0)}, five, Result{
			Jobs: 5, Started: 3, GaveUp: 2, Acceptance: 0.6, Linked: 0.666667, Classes: linked(2, 1),
			Makespan: 10 * Second, Utilisation: 0.875,
		}},
		// c waits for 0,1,2 or 4,5,6 to come back, which is when d and e start too.
		"scope": {"c500-8", key.Spread, Options{Scope: key.Link}, five, Result{
			Jobs: 5, Started: 5, Acceptance: 1, Linked: 1, Classes: linked(4, 0),
			WaitMean: 4800, WaitMedian: 7 * Second, WaitP95: 9 * Second, Makespan: 20 * Second, Utilisation: 0.69375, Fragmentation: 0.5,
		}},
		// What no idle node could serve is nobody's obstacle.
		"never": {"hurt", key.First, Options{Scope: key.Link}, []Job{
			{Arrival: 0, GPUs: 8, Duration: Second}, {Arrival: 0, GPUs: 5, Duration: Second}, {Arrival: 1, GPUs: 3, Duration: Second},
		}, Result{
			Jobs: 3, Started: 1, Never: 2, Acceptance: 0.333333, Linked: 1, Classes: linked(1, 0),
			Makespan: 1001, Utilisation: 0.428143, // 3 of 7 GPUs, but for the first millisecond
			// 3,4,5,7 are free: a pair, where two pairs or one set of four could be
			Fragmentation: 0.749251,
		}},
		// A job that ends in the moment in which it starts is in nobody's way.
		"no duration": {"c500-8", key.First, Options{}, []Job{{GPUs: 8}, {GPUs: 8}, {GPUs: 8, Duration: 2 * Second}, {GPUs: 1}}, Result{
			Jobs: 4, Started: 4, Acceptance: 1, Classes: []ClassCount{{topology.SYS, 3}},
			WaitMean: 500, WaitP95: 2 * Second, Makespan: 2 * Second, Utilisation: 1,
		}},
		"no job": {"c500-8", key.First, Options{}, nil, Result{Classes: []ClassCount{}}},
	} {
		t.Run(name, func(t *testing.T) {
			picker, gpus := simulated(t, c.node)
			got, err := Compare(picker, []key.Policy{c.policy}, gpus, c.jobs, c.options)
			c.want.Policy = c.policy.String()
			if diff := cmp.Diff([]Result{c.want}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestTimeline(t *testing.T) {
	picker, gpus := simulated(t, "c500-8")
	results, err := Compare(picker, []key.Policy{key.Spread, key.First}, gpus, five, Options{Timeline: true})
	if err != nil {
		t.Fatal(err)
	}
	// 20 s in at most 400 steps of a power of two milliseconds
	if got := results[0].Timeline; got.Step != 64 || len(got.Points) != 313 {
		t.Fatalf("%d steps of %v", len(got.Points), got.Step)
	}
	at := func(seconds float64) int { return int(seconds * 1000 / 64) }
	for i, want := range map[int]Point{
		at(0.5): {0.75, 1, 0},
		at(1):   {0.84375, 0.625, 0}, // 40 ms before c comes, 24 after
		at(1.5): {1, 0, 0}, at(2.5): {1, 0, 1}, at(3.5): {1, 0, 2},
		at(7): {0.75, 1, 2}, at(10.5): {0.625, 0, 0}, at(12): {0.5, 0, 0},
		at(19.99): {0.5, 0, 0}, // half a step, and yet its mean
	} {
		if diff := cmp.Diff(want, results[0].Timeline.Points[i]); diff != "" {
			t.Errorf("spread, step %d (-want +got):\n%s", i, diff)
		}
	}
	for i, p := range results[1].Timeline.Points {
		if p.Fragmentation != 0 {
			t.Errorf("first, step %d: %v", i, p)
		}
	}
}

// Runs of different lengths have timelines of one step.
func TestTimelinesShareAStep(t *testing.T) {
	picker, _ := simulated(t, "c500-8")
	// Spread takes the GPU beside the quad first, first one of the quad.
	gpus := []int{0, 1, 2, 3, 4}
	jobs := []Job{{GPUs: 1, Duration: 30 * Second}, {GPUs: 4, Duration: 30 * Second}}
	results, err := Compare(picker, []key.Policy{key.Spread, key.First, key.MTF}, gpus, jobs, Options{Timeline: true, Scope: key.Link})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Timeline.Step != results[1].Timeline.Step {
			t.Errorf("steps %v and %v", r.Timeline.Step, results[1].Timeline.Step)
		}
		sum := 0.0
		for i, p := range r.Timeline.Points {
			sum += p.Utilisation * min(r.Timeline.Step, r.Makespan-Time(i)*r.Timeline.Step).seconds() * 5
		}
		if want := 5 * 30.0; sum < want-0.01 || sum > want+0.01 {
			t.Errorf("%s: jobs had %v GPU-seconds by the timeline, want %v", r.Policy, sum, want)
		}
	}
	if results[0].Makespan != 30*Second || results[1].Makespan != 60*Second || results[2].Makespan != 30*Second {
		t.Errorf("runs of %v, %v and %v, want 30, 60 and 30", results[0].Makespan, results[1].Makespan, results[2].Makespan)
	}
}

func TestCompareRefuses(t *testing.T) {
	picker, gpus := simulated(t, "c500-8")
	for want, c := range map[string]struct {
		gpus []int
		jobs []Job
	}{
		"no GPU to give":       {nil, five},
		"GPU 8 is not on":      {[]int{0, 8}, five},
		"named twice":          {[]int{1, 1}, five},
		"job 1 wants 0 GPUs":   {gpus, []Job{{}}},
		"job 1 lasts -0.001":   {gpus, []Job{{GPUs: 1, Duration: -1}}},
		"job 1 arrives at -1":  {gpus, []Job{{GPUs: 1, Arrival: -Second}}},
		"job 2 arrives before": {gpus, []Job{{GPUs: 1, Arrival: 1}, {GPUs: 1}}},
		"1000001 jobs":         {gpus, make([]Job, MaxJobs+1)},
	} {
		if _, err := Compare(picker, []key.Policy{key.First}, c.gpus, c.jobs, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// The same trace gives the same bytes, in whatever order the policies come to run.
func TestDeterminism(t *testing.T) {
	jobs := generated(t, Spec{Jobs: 2000, GPUs: 8, Load: 0.8, Mix: fewLarge, MeanDuration: Hour, Seed: 7})
	text := func(procs int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		picker, gpus := simulated(t, "c500-8")
		results, err := Compare(picker, alloc.Policies(), gpus, jobs, Options{Timeline: true, Backfill: true})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, write := range []func() error{
			func() error { return FiguresCSV(&b, results) },
			func() error { return TimelineCSV(&b, results) },
			func() error { return SVG(&b, Picture{Results: results}) },
		} {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		return b.String()
	}
	want := text(1)
	for _, procs := range []int{2, 8} {
		if diff := cmp.Diff(want, text(procs)); diff != "" {
			t.Errorf("with %d processors:\n%s", procs, diff)
		}
	}
}
