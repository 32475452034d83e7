package compose

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// quads is a node of two quads of MetaXLink.
func quads(t *testing.T) *alloc.Picker {
	t.Helper()
	node := gpu.Node{}
	for i := range 8 {
		node.GPUs = append(node.GPUs, gpu.GPU{Index: i, BDF: gpu.BDF{Bus: uint8(i + 1)}, Healthy: true})
		for j := range i {
			if i/4 == j/4 {
				node.Links = append(node.Links, gpu.Link{A: j, B: i, Kind: "MX"})
			}
		}
	}
	graph, _ := topology.New(node)
	return alloc.New(graph)
}

func TestJoint(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	tests := []struct {
		name    string
		free    []int
		sizes   []int
		classes string
	}{
		{"two quads", all, []int{4, 4}, "MX MX"},
		{"small ones first on the line", all, []int{2, 2, 4}, "MX MX MX"},
		{"all that there is", all, []int{1, 2, 1, 2, 2}, "MX MX MX MX MX"},
		{"nothing", all, nil, ""},
		{"more than are tried in all orders", all, []int{1, 1, 1, 1, 1, 1, 2}, "MX MX MX MX MX MX MX"},
		{"one has to cross", []int{0, 1, 2, 4, 5, 6}, []int{2, 2, 2}, "MX MX NODE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var counts []Count
			for i, n := range tt.sizes {
				counts = append(counts, Count{Service: fmt.Sprint("s", i), N: n})
			}
			answers, err := Joint(quads(t), tt.free, counts, false)
			if err != nil {
				t.Fatal(err)
			}
			var given []int
			var classes []string
			for i, a := range answers {
				if len(a.GPUs) != tt.sizes[i] {
					t.Errorf("service %d has %v, want %d GPUs", i, a.GPUs, tt.sizes[i])
				}
				given = append(given, a.GPUs...)
				classes = append(classes, a.Class.String())
			}
			slices.Sort(given)
			if len(slices.Compact(slices.Clone(given))) != len(given) {
				t.Errorf("a GPU is given twice: %v", given)
			}
			slices.Sort(classes)
			if d := cmp.Diff(tt.classes, strings.Join(classes, " ")); d != "" {
				t.Errorf("classes (-want +got):\n%s", d)
			}
			again, err := Joint(quads(t), tt.free, counts, false)
			if d := cmp.Diff(answers, again); d != "" || err != nil {
				t.Errorf("asked again (%v):\n%s", err, d)
			}
		})
	}
	if _, err := Joint(quads(t), []int{0}, []Count{{Service: "a", N: 2}}, false); err == nil {
		t.Error("two GPUs of one")
	}
}

// orders are all that permute goes through, as sizes.
func orders(counts []Count) []string {
	first := make([]int, len(counts))
	for i := range first {
		first[i] = i
	}
	var out []string
	for order := slices.Clone(first); ; {
		text := ""
		for _, i := range order {
			text += fmt.Sprint(counts[i].N)
		}
		out = append(out, text)
		if !permute(order, first, counts) {
			return out
		}
	}
}

func TestPermute(t *testing.T) {
	for _, tt := range []struct {
		sizes []int
		want  []string
	}{
		{nil, []string{""}},
		{[]int{2}, []string{"2"}},
		{[]int{3, 2, 1}, []string{"321", "312", "231", "213", "132", "123"}},
		{[]int{2, 2, 1}, []string{"221", "212", "122"}},
		{[]int{1, 1, 1, 1}, []string{"1111"}},
	} {
		var counts []Count
		for _, n := range tt.sizes {
			counts = append(counts, Count{N: n})
		}
		if d := cmp.Diff(tt.want, orders(counts)); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.sizes, d)
		}
	}
	if got := len(orders([]Count{{N: 6}, {N: 5}, {N: 4}, {N: 3}, {N: 2}, {N: 1}})); got != 720 {
		t.Errorf("%d orders of six, want 720", got)
	}
}

// Joint is as good as the best of all orders, and sometimes better than the first.
func TestJointOrders(t *testing.T) {
	better := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		node := gpu.Node{}
		for i := range 8 {
			node.GPUs = append(node.GPUs, gpu.GPU{Index: i, BDF: gpu.BDF{Bus: uint8(i + 1)}, Healthy: true})
			for j := range i {
				if random.IntN(3) == 0 {
					node.Links = append(node.Links, gpu.Link{A: j, B: i, Kind: "MX"})
				}
			}
		}
		graph, _ := topology.New(node)
		picker := alloc.New(graph)
		free := []int{0, 1, 2, 3, 4, 5, 6, 7}
		counts := []Count{{"a", 3, alloc.Spread}, {"b", 3, alloc.Spread}, {"c", 2, alloc.Spread}}
		got, err := Joint(picker, free, counts, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			other, err := serve(picker, free, counts, order, false)
			if err != nil {
				t.Fatal(err)
			}
			switch c := slices.Compare(classes(got), classes(other)); {
			case c < 0:
				t.Errorf("seed %d: %v, but in the order %v %v", seed, classes(got), order, classes(other))
			case c > 0 && order[0] == 0 && order[1] == 1:
				better++
			}
		}
	}
	if better == 0 {
		t.Error("the first order is always the best: then why try others")
	}
}
