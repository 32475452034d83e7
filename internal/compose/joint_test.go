package compose

import (
	"fmt"
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
			if d := cmp.Diff(answers, again, cmp.AllowUnexported(alloc.Policy{})); d != "" || err != nil {
				t.Errorf("asked again (%v):\n%s", err, d)
			}
		})
	}
	if _, err := Joint(quads(t), []int{0}, []Count{{Service: "a", N: 2}}, false); err == nil {
		t.Error("two GPUs of one")
	}
	_, err := Joint(quads(t), all, []Count{{Service: "a", N: 2}, {Service: "b", N: -1}}, false)
	if want := `service "b": pick GPUs: -1 GPUs requested; want at least 1`; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}
