package trace

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// TestReplay: a run on one node without a queue, replayed, has the same result.
func TestReplay(t *testing.T) {
	picker, gpus := simulated(t, "c500-8")
	jobs := generated(t, Spec{Jobs: 2000, GPUs: 8, Load: 0.8, Mix: fewLarge, MeanDuration: Hour, Seed: 7})
	atOnce := Time(0)
	r := newRun(picker, key.Spread, gpus, jobs, Options{Patience: &atOnce})
	places := make([]Place, len(jobs))
	r.started = func(now running) { places[now.job] = Place{GPUs: now.gpus} }
	if err := r.all(); err != nil {
		t.Fatal(err)
	}
	want := r.tally.result("somebody", 8, r.now)
	got, err := Cluster{picker, 1, gpus}.Replay("somebody", jobs, places)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReplayCluster has two nodes: a job on each, one that found no place, and one that comes when another
// ends.
func TestReplayCluster(t *testing.T) {
	picker, gpus := simulated(t, "c500-8")
	jobs := []Job{{GPUs: 8, Duration: 10 * Second}, {GPUs: 2, Duration: 20 * Second}, {GPUs: 8, Duration: Second}, {Arrival: 10 * Second, GPUs: 8, Duration: 10 * Second}}
	places := []Place{{0, gpus}, {1, []int{0, 4}}, {}, {0, gpus}}
	got, err := Cluster{picker, 2, gpus}.Replay("somebody", jobs, places)
	if err != nil {
		t.Fatal(err)
	}
	// On node 1 six GPUs lie 3 and 3: two pairs of three; on node 0 nothing is free.
	want := Result{
		Policy: "somebody", Jobs: 4, Started: 3, GaveUp: 1, Acceptance: 0.75, Classes: []ClassCount{{topology.SYS, 3}},
		Makespan: 20 * Second, Utilisation: 0.625, Fragmentation: 0.3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplayRefuses(t *testing.T) {
	picker, gpus := simulated(t, "c500-8")
	two := []Job{{GPUs: 1, Duration: Second}, {GPUs: 1, Duration: Second}}
	for want, places := range map[string][]Place{
		"2 jobs at 1 places":                       {{}},
		"job 2: node 1 of 1":                       {{}, {1, []int{0}}},
		"job 2: GPUs [0 1] of node 0, of which [1": {{0, []int{0}}, {0, []int{0, 1}}},
	} {
		if _, err := (Cluster{picker, 1, gpus}).Replay("", two, places); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestWithin(t *testing.T) {
	node, err := sim.Node("c500-8")
	if err != nil {
		t.Fatal(err)
	}
	graph, _ := topology.New(node)
	started, linked := Within(graph, []Place{{0, []int{0}}, {1, []int{2, 3}}, {1, []int{3, 4}}, {}, {2, []int{4, 5, 6, 7}}, {3, []int{0, 1, 2, 3, 4, 5, 6, 7}}}, 2, 4)
	if started != 3 || linked != 2 {
		t.Errorf("%d of %d are within a domain, want 2 of 3", linked, started)
	}
}
