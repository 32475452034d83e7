// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/alloc/table"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// sound fails unless the outcome is a typed error, or an answer that meets the request.
func sound(t *testing.T, g *topology.Graph, r Request, a Answer, err error) {
	t.Helper()
	var argument *ArgumentError
	if err != nil {
		if !errors.As(err, &argument) && !errors.Is(err, ErrUnmet) {
			t.Fatalf("%+v: an error of no type: %v", r, err)
		}
		if a.GPUs != nil {
			t.Fatalf("%+v: %v beside %v", r, a.GPUs, err)
		}
		return
	}
	free := func(gpu int) bool { return slices.Contains(r.Free, gpu) }
	held := func(gpu int) bool { return slices.Contains(a.GPUs, gpu) }
	switch {
	case len(a.GPUs) != r.N || !slices.IsSorted(a.GPUs) || len(slices.Compact(slices.Clone(a.GPUs))) != r.N:
		t.Fatalf("%+v: %v", r, a.GPUs)
	case slices.ContainsFunc(a.GPUs, func(g int) bool { return !free(g) }):
		t.Fatalf("%+v: %v has a GPU that is not free", r, a.GPUs)
	case slices.ContainsFunc(r.Required, func(g int) bool { return !held(g) }):
		t.Fatalf("%+v: %v lacks a required GPU", r, a.GPUs)
	case g.Len() <= table.MaxGPUs && !a.Exact:
		t.Fatalf("%+v: not exact", r)
	}
}

// FuzzRequest makes any request about any graph: links that differ by direction, links of
// unknown class, bandwidths that are not valid, GPUs that do not exist.
func FuzzRequest(f *testing.F) {
	f.Add(uint64(1), uint8(8), uint8(3), uint8(0), 4, []byte{2, 3, 4, 5, 6, 7}, []byte{3}, uint8(0), 10.0, 1.0, uint8(0), 0, 64.0)
	f.Add(uint64(2), uint8(20), uint8(2), uint8(1), 3, []byte("abcdefghij"), []byte{}, uint8(2), math.NaN(), 1.0, uint8(1), -1, -1.0)
	f.Add(uint64(3), uint8(24), uint8(7), uint8(2), 30, []byte{2, 2}, []byte{9}, uint8(3), 1.0, -3.0, uint8(2), 100, math.NaN())
	f.Add(uint64(4), uint8(17), uint8(1), uint8(3), -5, []byte{0, 255}, []byte{}, uint8(6), 0.0, 0.0, uint8(9), 1, math.Inf(1))
	f.Fuzz(func(t *testing.T, seed uint64, gpus, kinds, flags uint8, n int, free, required []byte, policy uint8, gain, loss float64, choice uint8, _ int, gbps float64) {
		r := rand.New(rand.NewPCG(seed, 1))
		node := alloctest.Random(r, 1+int(gpus)%28, 1+int(kinds)%7)
		if flags&4 != 0 {
			node = alloctest.Crowd(r, 1+int(gpus)%28, 1+int(kinds)%8)
		}
		for i := range node.Links {
			if flags&1 != 0 && r.IntN(2) == 0 {
				node.Links = append(node.Links, gpu.Link{A: node.Links[i].B, B: node.Links[i].A, Kind: "SYS", GBps: gbps / 2})
			}
			if flags&2 != 0 {
				node.Links[i].Kind = "NA"
			}
			if r.IntN(3) == 0 {
				node.Links[i].GBps = gbps
			}
		}
		g, _ := topology.New(node)
		req := Request{N: n, Scope: key.Scope(choice % 7), Sizes: SizeRule(choice / 7 % 4), Explain: flags&8 != 0}
		for _, b := range free {
			req.Free = append(req.Free, int(b)-2)
		}
		for _, b := range required {
			req.Required = append(req.Required, int(b)-2)
		}
		all := Policies()
		req.Policy = all[int(policy)%len(all)]
		if policy >= 128 {
			var err error
			if req.Policy, err = key.Weighted(gain, loss); err != nil {
				return
			}
		}
		w := link.Weights(flags / 16 % 3)
		p, err := NewWeighted(g, w)
		if err != nil {
			var argument *ArgumentError
			if !errors.As(err, &argument) || w == link.KindWeights {
				t.Fatalf("weights %v: %v", w, err)
			}
			return
		}
		a, err := p.Pick(req)
		sound(t, g, req, a, err)
	})
}

// TestInvalidBandwidths expects an error that names the link.
func TestInvalidBandwidths(t *testing.T) {
	for _, gbps := range []float64{math.NaN(), -1, math.Inf(1), math.Inf(-1), 6001} {
		node := alloctest.Build(3, 1, 0, alloctest.Domains(3, "SYS", "SYS"))
		node.Links[1].GBps = gbps
		g, _ := topology.New(node)
		_, err := NewWeighted(g, link.BandwidthWeights)
		var argument *ArgumentError
		want := fmt.Sprintf("pick GPUs: the link between GPU %d and %d has %v GB/s; want 0 (not known) to 6000", node.Links[1].A, node.Links[1].B, gbps)
		if !errors.As(err, &argument) || err.Error() != want {
			t.Errorf("%v GB/s: %v; want %s", gbps, err, want)
		}
		if _, err := New(g).Pick(Request{N: 1, Free: []int{0}}); err != nil {
			t.Errorf("%v GB/s, weighed by kind: %v", gbps, err)
		}
	}
}

// TestWeights weighs pairs in each way.
func TestWeights(t *testing.T) {
	node := alloctest.Build(6, 2, 0, alloctest.Domains(6, "NODE", "SYS", []int{0, 1, 2}))
	for i, l := range node.Links {
		switch [2]int{l.A, l.B} {
		case [2]int{0, 1}:
			node.Links[i].GBps = 64
		case [2]int{0, 2}:
			node.Links[i].GBps = 50
		}
	}
	g := alloctest.Graph(t, node)
	kind, err := link.New(g, link.KindWeights)
	if err != nil {
		t.Fatal(err)
	}
	bandwidth, err := link.New(g, link.BandwidthWeights)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		i, j, kind, bandwidth int
	}{
		{0, 1, 100, 640},
		{2, 0, 100, 500},
		{1, 2, 100, 500}, // the least that is stated for the class
		{3, 4, 20, 100},  // a fifth of that of MX
		{0, 5, 10, 50},
	} {
		if a, b := kind.Weight(c.i, c.j), bandwidth.Weight(c.j, c.i); a != c.kind || b != c.bandwidth {
			t.Errorf("%d-%d weighs %d and %d, want %d and %d", c.i, c.j, a, b, c.kind, c.bandwidth)
		}
	}
	if _, err := NewWeighted(g, link.Weights(len(link.AllWeights))); err == nil {
		t.Error("invalid weights are accepted")
	}
	for _, w := range link.AllWeights {
		if back, err := ParseWeights(w.String()); err != nil || back != w {
			t.Errorf("%v reads as %v, %v", w, back, err)
		}
	}
}

// sparse is a node of so many GPUs in MetaXLink quads on two NUMA nodes, of which only the
// links that are there are stated.
func sparse(n int) gpu.Node {
	node := gpu.NewNode("sparse")
	for i := range n {
		node.GPUs = append(node.GPUs, gpu.GPU{Index: i, NUMA: i * 2 / n, Healthy: true})
		for j := i / 4 * 4; j < i; j++ {
			node.Links = append(node.Links, gpu.Link{A: j, B: i, Kind: "MX"})
		}
	}
	return node
}

// TestLargestNodes picks on the largest nodes: with links that nest, that do not nest, and
// that are all unknown.
func TestLargestNodes(t *testing.T) {
	t.Parallel()
	quads, unknown, lost := sparse(max(tree.MaxGPUs/4, alloctest.Rounds(tree.MaxGPUs))), alloctest.Nowhere(sparse(tree.MaxGPUs/4)), sparse(tree.MaxGPUs/4)
	unknown.Links = nil
	lost.Links = lost.Links[1:]
	for name, node := range map[string]gpu.Node{"quads": quads, "unknown": unknown, "a lost link": lost} {
		t.Run(name, func(t *testing.T) {
			p := New(alloctest.Graph(t, node))
			free := make([]int, len(node.GPUs))
			for i := range free {
				free[i] = i
			}
			for _, n := range []int{1, 8, len(free)} {
				a, err := p.Pick(Request{N: n, Free: free})
				if err != nil || len(a.GPUs) != n {
					t.Errorf("%d: %d GPUs, %v", n, len(a.GPUs), err)
				}
				if method := map[bool]string{true: "closure", false: "tree"}[name == "a lost link"]; a.Method != method || a.Exact != (method == "tree") {
					t.Errorf("%d: method %q, exact %v", n, a.Method, a.Exact)
				}
			}
			_, err := p.Pick(Request{N: len(free) + 1, Free: free})
			var short *InsufficientError
			if !errors.As(err, &short) {
				t.Errorf("one more than there are: %v", err)
			}
		})
	}
}
