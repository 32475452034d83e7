// SPDX-License-Identifier: Apache-2.0

package hierarchy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// sketch writes a hierarchy as "SYS{MX{0 1} 2}".
func sketch(d *Cluster) string {
	if len(d.Parts) == 0 {
		return fmt.Sprint(d.GPUs[0])
	}
	var parts []string
	for _, in := range d.Parts {
		parts = append(parts, sketch(in))
	}
	return d.Rank.Class.String() + "{" + strings.Join(parts, " ") + "}"
}

// TestWithoutWeights compares a hierarchy from which the weights are removed with that of the
// graph weighed by class.
func TestWithoutWeights(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(53, 1))
	for range alloctest.Rounds(300) {
		node := alloctest.Irregular(r, 2+r.IntN(20))
		for i := range node.Links {
			node.Links[i].GBps = float64(r.IntN(4))
		}
		g := alloctest.Graph(t, node)
		s, err := link.New(g, link.BandwidthWeights)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rootOf(link.ByClass(g)), rootOf(s).WithoutWeights(), cmp.AllowUnexported(Cluster{}, link.Rank{})); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", node.Links, diff)
		}
	}
}

// rootOf is the hierarchy of a graph, whether or not it nests.
func rootOf(g *link.Graph) *Cluster {
	root, _ := New(g)
	return root
}

func TestHierarchy(t *testing.T) {
	for _, c := range []struct {
		node, want string
		nests      bool
	}{
		{"two quads", "NODE{MX{0 1 2 3} MX{4 5 6 7}}", true},
		{"two quads, SYS", "SYS{MX{0 1 2 3} MX{4 5 6 7}}", true},
		{"four pairs", "SYS{NODE{MX{0 1} MX{2 3}} NODE{MX{4 5} MX{6 7}}}", true},
		{"quad, pair and 2", "SYS{MX{0 1 2 3} NODE{MX{4 5} 6 7}}", true},
		{"pairs 02 13 45 67", "SYS{MX{0 2} MX{1 3} MX{4 5} MX{6 7}}", true},
		{"mesh over 4 NUMA", "MX{MX{0 1} MX{2 3} MX{4 5} MX{6 7}}", true},
		{"unlinked", "NODE{0 1 2 3 4 5 6 7}", true},
		{"PCIe only", "NODE{SWITCH{SWITCH{0 1} 2 3} SWITCH{4 5 SWITCH{6 7}}}", true},
		// one quad has lost a link, which the paths through the others make up for
		{"degraded quads", "SYS{MX{0 1 2 3} MX{4 5 6 7}}", false},
		{"wings", "SWITCH{MX{0 1 2 3} MX{4 5 6 7}}", false},
		{"cube mesh", "MX{MX{MX{0 1} MX{2 3}} MX{MX{4 5} MX{6 7}}}", false},
	} {
		root, nests := New(link.ByClass(alloctest.Named(t, c.node)))
		if got := sketch(root); got != c.want || nests != c.nests {
			t.Errorf("%s: %s, nests %v; want %s, %v", c.node, got, nests, c.want, c.nests)
		}
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(root.GPUs, want) {
			t.Errorf("%s: the root has %v", c.node, root.GPUs)
		}
	}
}
