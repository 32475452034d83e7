// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/placement"
)

// TestClusterPages keeps the pages what the results and the templates say; without results
// there are none.
func TestClusterPages(t *testing.T) {
	results, err := loadCluster()
	if errors.Is(err, fs.ErrNotExist) {
		for _, p := range clusterPages {
			if _, err := os.Stat(filepath.Join(source, p.path)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s has no results: %v", p.path, err)
			}
		}
		return
	} else if err != nil {
		t.Fatal(err)
	}
	files, err := clusterFiles(results)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(source, path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is not what the results say; write it anew: test/bench/run pages", path)
		}
	}
}

// TestReplayDays: of the jobs of the day two are placed, one of them on both domains of a
// node.
func TestReplayDays(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(source, dayTrace))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	placed := make([]placement.Place, len(rows))
	eight, pairs := 0, 0
	for i, row := range rows {
		switch strings.Split(row, ",")[1] {
		case "8":
			eight++
		case "2":
			if pairs++; pairs <= 2 {
				placed[i] = placement.Place{Node: pairs, GPUs: []int{2 * pairs, 2*pairs - 1}} // 1 and 2, 3 and 4
			}
		}
	}
	days, err := replayDays([]placement.Day{{Scheduler: "somebody", Placed: placed}})
	if err != nil {
		t.Fatal(err)
	}
	d := days[0]
	if d.Policy != "somebody" || d.Started != 2 || d.Eight != eight || d.EightStarted != 0 || d.Some != 2 || d.Linked != 1 {
		t.Errorf("%+v", d)
	}
	if _, err := replayDays([]placement.Day{{Scheduler: "somebody"}}); err == nil || !strings.Contains(err.Error(), "somebody: 1850 jobs at 0 places") {
		t.Errorf("a day without places: %v", err)
	}
}

// TestAddScale: what a file has replaces what there is of the same scheduler, and what it lacks
// stays. Without TestScale nothing is replaced.
func TestAddScale(t *testing.T) {
	jobs, err := placement.ReadJobs(filepath.Join(source, dayTrace))
	if err != nil {
		t.Fatal(err)
	}
	operator := &placement.Operator{Nodes: 7}
	r := ClusterResults{Commit: "old", Scale: Scale{
		Commit: "old", Operator: operator,
		Days: []placement.Outcome{{Policy: "HAMi, spread", Started: 8, Rate: 3}, {Policy: "Volcano", Started: 7, Rate: 4}},
	}}
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := placement.Add(file, func(f *placement.Figures) {
		f.PutRate("HAMi, spread", 5)
		for _, name := range []string{"Volcano", "Kueue"} {
			f.PutDay(placement.Day{Scheduler: name, Placed: make([]placement.Place, len(jobs))})
		}
		f.Load, f.Volcano = 2, &placement.Nodes{Nodes: 1000}
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + ".not"} {
		if err := r.addScale(name); err == nil || r.Scale.Commit != "old" || r.Scale.Days[0].Rate != 3 {
			t.Errorf("%s: %v, %+v", name, err, r.Scale)
		}
	}
	if err := placement.Add(file, func(f *placement.Figures) { f.Put(placement.Nodes{Nodes: 100}) }); err != nil {
		t.Fatal(err)
	}
	if err := r.addScale(file); err != nil {
		t.Fatal(err)
	}
	s := r.Scale
	if len(s.Days) != 3 || s.Days[0].Started != 8 || s.Days[0].Rate != 5 || s.Days[1].Jobs != len(jobs) || s.Days[1].Started != 0 || s.Days[1].Rate != 4 || s.Days[2].Policy != "Kueue" {
		t.Errorf("%+v", s.Days)
	}
	if r.Commit != "old" || len(s.Commit) < 12 || s.Date == "" || s.Load != 2 || s.Nodes[0].Nodes != 100 || s.Volcano.Nodes != 1000 || s.Operator != operator {
		t.Errorf("%+v", s)
	}
}

func TestParseCalls(t *testing.T) {
	got, err := parseCalls("goos: linux\nBenchmarkAllocate/gpus=8-2   1   5306 ns/op   2400 µs-max   499.0 µs-median   940.0 µs-p99\nPASS\n")
	if diff := cmp.Diff(map[string]Call{"Allocate/gpus=8": {499e3, 940e3}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, text := range []string{"", "PASS\n", "BenchmarkAllocate-2   1   5306 ns/op\n", "BenchmarkAllocate-2   1   x µs-p99\n"} {
		if got, err := parseCalls(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestWithin(t *testing.T) {
	a := placement.Answers{Count: 200, Within: []placement.Within{{Seconds: 0.001, Count: 100}, {Seconds: 0.002, Count: 197}, {Seconds: 0.005, Count: 198}, {Seconds: 1, Count: 199}}}
	for percent, want := range map[int]string{50: "≤ 1 ms", 51: "≤ 2 ms", 98: "≤ 2 ms", 99: "≤ 5 ms", 100: "> 1 s"} {
		if got := within(a, percent); got != want {
			t.Errorf("%d %%: %s, want %s", percent, got, want)
		}
	}
}

// TestRenderCluster makes both pages of made-up results: what they say of goals, and of a
// scheduler that is not there.
func TestRenderCluster(t *testing.T) {
	answers := placement.Answers{Count: 200, Seconds: 0.4, Within: []placement.Within{{Seconds: 0.005, Count: 100}, {Seconds: 0.05, Count: 200}}}
	r := ClusterResults{
		Kubernetes: "1.34.4", Calls: map[string]Call{},
		Starts: placement.Starts{Pairs: 30, Without: 1e9, With: 1.2e9, Difference: 2e8, Quartiles: [2]float64{1e8, 3e8}},
		Idle:   map[string]placement.Idle{"metax-gpu-label": {CPU: 0.0061, Memory: 10 << 20}},

		Scale: Scale{
			Commit: "abc", Date: "2026-11-29", Load: 1.5,
			Nodes:    []placement.Nodes{{Nodes: 1000, Pods: 200, Seconds: 4, Instant: 3, Memory: 12 << 20, Filter: answers, Prioritize: answers}},
			Volcano:  &placement.Nodes{Nodes: 1000, Pods: 200, Seconds: 20, Memory: 13 << 20, Prioritize: answers},
			Operator: &placement.Operator{Nodes: 1000, Look: 2e8, Memory: 201 << 20},
			Days:     []placement.Outcome{{Policy: "kube-scheduler", Jobs: 10, Acceptance: 0.9, Eight: 4, EightStarted: 1, Some: 8, Linked: 6, Rate: 49.7}},
		},
	}
	for _, call := range []string{"GetPreferredAllocation/gpus=8/n=4", "GetPreferredAllocation/gpus=64/n=4", "Allocate/gpus=8", "Allocate/gpus=64"} {
		r.Calls[call] = Call{1e5, 2e5}
	}
	files, err := clusterFiles(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"| half of the answers to `prioritize` | ≤ 5 ms | ≤ 5 ms | met |", "| ≤ 50 ms | ≤ 20 ms | **missed** |", "| 50 | ≥ 30 | met |", "| 12.0 MiB | ≤ 150 MiB | met |",
		"| 99 of 100 answers to Volcano's `prioritize` | ≤ 50 ms | ≤ 20 ms | **missed** |", "on 1000 nodes: 10 pods a second; prioritize 2.00 ms in the mean, ≤ 50 ms for 99 of 100; 13.0 MiB.", "200 at once (2026-11-29, commit abc, load before 1.50).",
		"| 1000 | 50 | 75 % | 2.00 ms | ≤ 50 ms | 2.00 ms |", "| `Allocate`, 4 of 64 GPUs | 100 µs | 200 µs |", "a pod takes 1.20 s with four GPUs, and 1.00 s without",
		"| the operator: processor time for one look at 1000 nodes | 200 ms | ≤ 300 ms | met |", "| 201 MiB | ≤ 200 MiB | **missed** |",
		"| `metax-gpu-label` | 0.61 % | **missed** | 10.0 MiB | met |",
	} {
		if page := string(files[clusterPages[0].path]); !strings.Contains(page, part) {
			t.Errorf("no %q in\n%s", part, page)
		}
	}
	if page := string(files[clusterPages[1].path]); !strings.Contains(page, "| **未达到** |") {
		t.Error(page)
	}
	for name, part := range map[string]string{"docs/kubernetes-schedulers.md": "HAMi's scheduler did not take part in this run.", "docs/zh/kubernetes-schedulers.md": "没有参加"} {
		page := string(files[name])
		if !strings.Contains(page, "| kube-scheduler | 90 % | 25 % | 75 % | 0 % | 0 % | 50 |\n") || !strings.Contains(page, part) || !strings.Contains(page, "## Volcano\n") {
			t.Errorf("%s:\n%s", name, page)
		}
	}
	r.Scale.Days[0].Policy = "HAMi, spread"
	if files, err = clusterFiles(r); err != nil || strings.Contains(string(files["docs/kubernetes-schedulers.md"]), "did not take part") {
		t.Errorf("HAMi's day: %v", err)
	}
	if r.Scale.Nodes[0].Nodes = 100; err == nil {
		_, err = clusterFiles(r)
	}
	if err == nil || !strings.Contains(err.Error(), "no figures of 1000 nodes") {
		t.Errorf("without 1,000 nodes: %v", err)
	}
}

// TestWithSection: one section of a page changes, and what is around it stays.
func TestWithSection(t *testing.T) {
	got, err := withSection([]byte("# A\n\n## B\n\nold\n\n## C\n\nstays\n"), []byte("## B\n\nnew\n"))
	if want := "# A\n\n## B\n\nnew\n\n## C\n\nstays\n"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, page := range []string{"", "# A\n\n## C\n", "# A\n\n## B\n\nlast\n", "## Bee\n\n## C\n"} {
		if got, err := withSection([]byte(page), []byte("## B\n\nnew\n")); err == nil {
			t.Errorf("%q: %q", page, got)
		}
	}
}
