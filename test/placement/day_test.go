// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// quads are nodes of two MetaXLink domains.
func quads(nodes int) Cluster {
	return Cluster{nodes, []int{0, 1, 2, 3, 4, 5, 6, 7}, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}}
}

func TestReadJobs(t *testing.T) {
	const head = "arrival,gpus,duration\n"
	file := filepath.Join(t.TempDir(), "jobs.csv")
	for text, want := range map[string][]Job{
		head + "0.5,1,60\n0.5,8,0.0014\n":   {{500 * time.Millisecond, 1, time.Minute}, {500 * time.Millisecond, 8, time.Millisecond}},
		"":                                  nil,
		head:                                nil,
		"gpus,arrival,duration\n1,1,1\n":    nil,
		head + "1,1\n":                      nil,
		head + "soon,1,1\n":                 nil,
		head + "1,0,1\n":                    nil,
		head + "1,1,0\n":                    nil,
		head + "2,1,1\n1,1,1\n":             nil,
		head + "1,99999999999999999999,1\n": nil,
	} {
		testfile.Write(t, file, text, 0o600)
		got, err := ReadJobs(file)
		if (err == nil) != (want != nil) {
			t.Errorf("%q: %v", text, err)
		} else if diff := cmp.Diff(want, got); want != nil && diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestFragmentation(t *testing.T) {
	for _, c := range []struct {
		free []int
		want float64
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7}, 0}, // no domain of eight there ever was
		{[]int{4, 5, 6, 7}, 0},
		{[]int{0, 1, 4, 5}, 0.5},        // no four, two pairs
		{[]int{0, 1, 2, 4, 5, 6}, 0.6},  // no four, two of three pairs
		{[]int{1, 2, 3, 4, 5, 6, 7}, 0}, // four, three pairs
		{[]int{0, 4}, 1},                // one from each
		{[]int{0, 1}, 0},                // a pair
		{[]int{5}, 0},                   // nothing to lose
		{nil, 0},
	} {
		if got := quads(1).fragmentation(c.free); got != c.want {
			t.Errorf("%v free: %v, want %v", c.free, got, c.want)
		}
	}
}

// TestReplay has two nodes: a job on each, one that found no place, one that comes when
// another ends, and one that comes when all have ended.
func TestReplay(t *testing.T) {
	all := quads(2).GPUs
	jobs := []Job{
		{0, 8, 10 * time.Second},
		{0, 2, 20 * time.Second},
		{0, 8, time.Second},
		{10 * time.Second, 4, 10 * time.Second},
		{20 * time.Second, 1, time.Second},
	}
	day := Day{"somebody", []Place{{0, all}, {1, []int{0, 4}}, {}, {0, []int{7, 6, 5, 4}}, {}}}
	got, err := quads(2).Replay(day, jobs)
	if err != nil {
		t.Fatal(err)
	}
	// On node 1 six GPUs lie 3 and 3: two pairs of three. On node 0 nothing is free, then a
	// domain.
	want := Outcome{
		Policy: "somebody", Jobs: 5, Started: 3, Acceptance: 0.6, Utilisation: 0.5, Fragmentation: 0.3,
		Eight: 2, EightStarted: 1, Some: 2, Linked: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplayRefuses(t *testing.T) {
	two := []Job{{0, 1, time.Second}, {0, 1, time.Second}}
	for want, places := range map[string][]Place{
		"2 jobs at 1 places":                       {{}},
		"job 2: node 1 of 1":                       {{}, {1, []int{0}}},
		"job 2: GPUs [0 1] of node 0, of which [1": {{0, []int{0}}, {0, []int{0, 1}}},
	} {
		if _, err := quads(1).Replay(Day{"somebody", places}, two); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
