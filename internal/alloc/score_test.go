package alloc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

func scored(t *testing.T, node gpu.Node, free []int, n int, policy key.Policy) NodeScore {
	t.Helper()
	s, err := New(alloctest.Graph(t, node)).Score(free, n, policy)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScore(t *testing.T) {
	got := scored(t, alloctest.Nodes()["two quads, SYS"], []int{7, 6, 5, 4, 3, 2}, 2, key.Spread)
	mx := topology.MX
	want := NodeScore{
		Policy: "spread", GPUs: []int{2, 3}, Free: 6, Class: mx, Weight: 100, Cut: 80, Locality: 5,
		Capability: []key.Count{{Class: mx, Size: 2, Sets: 1}},
		Before:     []key.Count{{Class: mx, Size: 4, Sets: 1}, {Class: mx, Size: 2, Sets: 3}},
		After:      []key.Count{{Class: mx, Size: 4, Sets: 1}, {Class: mx, Size: 2, Sets: 2}},
		Loss:       []key.Count{{Class: mx, Size: 4, Sets: 0}, {Class: mx, Size: 2, Sets: 1}},
		Jobs:       -1, Worst: topology.SYS, Key: key.Spread.Key(), Exact: true, Method: "table",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// After lacks the sizes that are too large for what is left; Loss does not.
	got = scored(t, alloctest.Nodes()["wings"], []int{0, 1, 4, 5}, 2, key.Binpack)
	pcie := topology.Switch
	want = NodeScore{
		Policy: "binpack", GPUs: []int{0, 1}, Free: 4, Class: mx, Weight: 100, Cut: 120, Locality: 2,
		Capability: []key.Count{{Class: mx, Size: 2, Sets: 1}, {Class: pcie, Size: 2, Sets: 1}},
		Before:     []key.Count{{Class: mx, Size: 4, Sets: 0}, {Class: mx, Size: 2, Sets: 2}, {Class: pcie, Size: 4, Sets: 1}, {Class: pcie, Size: 2, Sets: 2}},
		After:      []key.Count{{Class: mx, Size: 2, Sets: 1}, {Class: pcie, Size: 2, Sets: 1}},
		Loss:       []key.Count{{Class: mx, Size: 4, Sets: 0}, {Class: mx, Size: 2, Sets: 1}, {Class: pcie, Size: 4, Sets: 1}, {Class: pcie, Size: 2, Sets: 1}},
		Jobs:       -1, Worst: topology.SYS, Key: key.Binpack.Key(), Exact: true, Method: "table",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestScoreErrors(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	var insufficient *InsufficientError
	if _, err := p.Score([]int{0, 1}, 3, key.Spread); !errors.As(err, &insufficient) {
		t.Errorf("3 of 2: %v", err)
	}
	var argument *ArgumentError
	for _, free := range [][]int{{8}, {0, 0}, {-1}} {
		if _, err := p.Score(free, 1, key.Spread); !errors.As(err, &argument) {
			t.Errorf("free %v: %v", free, err)
		}
		if _, _, err := p.Vectors(free); !errors.As(err, &argument) {
			t.Errorf("vectors of %v: %v", free, err)
		}
	}
	s, err := New(alloctest.Graph(t, alloctest.Build(1, 1, 0, nil))).Score([]int{0}, 1, key.Spread)
	if err != nil || s.Worst != topology.MX || s.Class != topology.MX {
		t.Errorf("a node of one GPU: %+v, %v", s, err)
	}
	form, err := json.Marshal(s)
	if err != nil || strings.Contains(string(form), "null") {
		t.Errorf("JSON with a null: %s, %v", form, err)
	}
	for _, policy := range Policies() {
		s, err := p.Score([]int{0, 1, 2, 3}, 4, policy)
		if form, jsonErr := json.Marshal(s); err != nil || jsonErr != nil || strings.Contains(string(form), "null") {
			t.Errorf("%v: JSON with a null: %s, %v", policy, form, err)
		}
	}
}

func TestVectors(t *testing.T) {
	p := New(alloctest.Named(t, "two quads"))
	// of the pairs 0,1 and 4,5 the first, though it cuts more
	scores, losses, err := p.Vectors([]int{5, 0, 1, 2, 4})
	if diff := cmp.Diff([][]int{{0, 100, 300, 360, 520}, {240, 280, 120, 160, 0}}, [][]int{scores, losses}); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for n := 1; n <= 5; n++ {
		weight, cut, err := p.Heaviest([]int{5, 0, 1, 2, 4}, n)
		if err != nil || weight != scores[n-1] || cut != losses[n-1] {
			t.Errorf("the heaviest %d: %d, %d, %v", n, weight, cut, err)
		}
	}
	if _, _, err := p.Heaviest([]int{0, 1}, 3); !errors.Is(err, ErrUnmet) {
		t.Errorf("3 of 2: %v", err)
	}
	scores, losses, err = p.Vectors(nil)
	if len(scores) != 0 || len(losses) != 0 || scores == nil || err != nil {
		t.Errorf("nothing free: %v, %v, %v", scores, losses, err)
	}
}

// TestWorstOfLargeNode has one pair of a worse class than all others.
func TestWorstOfLargeNode(t *testing.T) {
	for _, n := range []int{5, 100} {
		p := New(alloctest.Graph(t, alloctest.Build(n, 1, 0, alloctest.With(alloctest.Quads(n), "SYS", [2]int{1, 2}))))
		s, err := p.Score(alloctest.Seq(n), 2, key.Spread)
		if err != nil || s.Worst != topology.SYS || s.Method == "" {
			t.Errorf("%d: %+v, %v", n, s, err)
		}
	}
}
