// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// node is a Node with the GPUs of a simulated one, of which these are free.
func node(t testing.TB, s *Shapes, name, simulated string, free []int) Node {
	t.Helper()
	g := simtest.Node(t, simulated)
	return nodeOf(t, s, nodescoretest.Node{Name: name, GPUs: g, Free: free})
}

func nodeOf(t testing.TB, s *Shapes, n nodescoretest.Node) Node {
	t.Helper()
	annotations, err := n.Annotations()
	if err != nil {
		t.Fatal(err)
	}
	p := s.Read(annotations)
	if p.Problem != nil {
		t.Fatal(p.Problem.Text)
	}
	gpus := len(n.GPUs.GPUs)
	return Node{Name: n.Name, Published: p, Allocatable: gpus - len(n.Unhealthy), Requested: n.Used()}
}

// bare is a Node without our annotations.
func bare(s *Shapes, name string, annotations map[string]string) Node {
	return Node{Name: name, Published: s.Read(annotations), Allocatable: 8}
}

func (j Judgement) words() string {
	switch {
	case !j.Fits && j.Never:
		return "never: " + j.Reason
	case !j.Fits:
		return "no: " + j.Reason
	case j.By == Key:
		return fmt.Sprint(j.Offer.Key.GPUs, j.Score, j.Loss)
	case j.By == Values:
		return fmt.Sprint("values ", j.Score, j.Loss)
	}
	return j.Reason
}

var all8 = []int{0, 1, 2, 3, 4, 5, 6, 7}

func TestJudge(t *testing.T) {
	s := &Shapes{}
	vendor := map[string]string{protocol.ScoresAnnotation: `{"1":0,"2":100}`, protocol.LossesAnnotation: `{"1":80,"2":20}`}
	missing := "judged by counts: it does not have both annotations topology.metax-ctk.io/node and topology.metax-ctk.io/state"
	for name, c := range map[string]struct {
		node   Node
		change func(*Node)
		r      Request
		want   string
	}{
		"free":             {node(t, s, "n", "c500-8", all8), nil, Request{4, key.Spread}, "[0 1 2 3] 660 320"},
		"the better quad":  {node(t, s, "n", "c500-8", []int{0, 1, 4, 5, 6, 7}), nil, Request{2, key.Spread}, "[0 1] 110 160"},
		"across":           {node(t, s, "n", "c500-8", []int{2, 3, 4, 5}), nil, Request{4, key.Spread}, "[2 3 4 5] 300 0"},
		"too few are free": {node(t, s, "n", "c500-8", []int{0, 1, 2}), nil, Request{4, key.Spread}, "no: 4 GPUs requested, but only 3 of 8 GPUs are free and healthy"},
		"too many":         {node(t, s, "n", "c500-8", all8), nil, Request{9, key.Spread}, "never: 9 GPUs requested, but this node has only 8"},
		"behind, because a pod has ended": {
			node(t, s, "n", "c500-8", []int{0, 1, 2}), func(n *Node) { n.Requested = 4 },
			Request{4, key.Spread},
			"judged by counts: its state has 3 GPUs free, but its pods leave 4",
		},
		"in use by others before the kubelet knows": {
			node(t, s, "n", "c500-8", []int{0, 1, 2}), func(n *Node) { n.Requested, n.State.Outside = 0, []int{3, 4, 5, 6, 7} },
			Request{4, key.Spread},
			"no: 4 GPUs requested, but only 3 of 8 GPUs are free and healthy",
		},
		"stale": {
			node(t, s, "n", "c500-8", all8), func(n *Node) { n.Requested = 4 },
			Request{4, key.Spread},
			"judged by counts: its state has 8 GPUs free of 8, but pods request 4",
		},
		"a pod a moment ago": {
			node(t, s, "n", "c500-8", all8), func(n *Node) { n.place(4) },
			Request{4, key.Spread},
			"[4 5 6 7] 660 0",
		},
		"pods a moment ago": {
			node(t, s, "n", "c500-8", all8), func(n *Node) { n.place(2); n.place(4) },
			Request{2, key.Spread},
			"[2 3] 110 0",
		},
		"a pod a moment ago may have all": {
			node(t, s, "n", "c500-8", []int{0, 1}), func(n *Node) { n.place(1) },
			Request{2, key.Spread},
			"judged by counts: pods that were placed a moment ago may have the GPUs",
		},
		"more pods a moment ago than GPUs": {
			node(t, s, "n", "c500-8", []int{0, 1}), func(n *Node) { n.place(4) },
			Request{2, key.Spread},
			"judged by counts: pods that were placed a moment ago may have the GPUs",
		},
		"shares": {
			node(t, s, "n", "c500-8", all8), func(n *Node) { n.Allocatable = 32 },
			Request{4, key.Spread},
			"judged by counts: its 8 GPUs are given in 32 parts",
		},
		"mtf, a size":                {node(t, s, "n", "c500-8", all8), nil, Request{5, key.MTF}, "never: 5 GPUs requested; the policy mtf allows 1, 2, 4 or 8"},
		"mtf, a size, no annotation": {bare(s, "n", nil), nil, Request{5, key.MTF}, "never: 5 GPUs requested; the policy mtf allows 1, 2, 4 or 8"},
		"mtf, one NUMA node":         {node(t, s, "n", "c500-8", []int{1, 2, 3, 4, 5, 6, 7}), nil, Request{4, key.MTF}, "[4 5 6 7] 660 240"},
		"mtf, across NUMA nodes": {
			node(t, s, "n", "c500-8-sys", []int{2, 3, 4, 5}), nil,
			Request{4, key.MTF},
			"no: no 4 free GPUs are on one NUMA node (at most 2); without scope numa: 2-5 (SYS)",
		},
		"mtf, all": {node(t, s, "n", "c500-8", all8), nil, Request{8, key.MTF}, "[0 1 2 3 4 5 6 7] 1640 0"},
		"scaled":   {node(t, s, "n", "c550-8", all8), nil, Request{8, key.Spread}, "[0 1 2 3 4 5 6 7] 1999 0"},
		"vendor":   {bare(s, "n", vendor), nil, Request{2, key.Spread}, "values 100 20"},
		"vendor, no value": {
			bare(s, "n", vendor), nil,
			Request{4, key.Spread},
			"judged by counts: metax-tech.com/gpu.topology.scores and metax-tech.com/gpu.topology.losses have no values for 4 GPUs",
		},
		"vendor, too many":  {bare(s, "n", vendor), func(n *Node) { n.Allocatable = 1 }, Request{2, key.Spread}, "no: 2 GPUs requested, but this node has only 1"},
		"vendor, one alone": {bare(s, "n", map[string]string{protocol.ScoresAnnotation: `{"2":100}`}), nil, Request{2, key.Spread}, missing},
		"nothing":           {bare(s, "n", nil), nil, Request{2, key.Spread}, missing},
		"malformed": {
			bare(s, "n", map[string]string{protocol.NodeAnnotation: "{", protocol.StateAnnotation: "{}"}), nil,
			Request{2, key.Spread},
			`judged by counts: invalid annotation topology.metax-ctk.io/node: "unexpected end of JSON input"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.change != nil {
				c.change(&c.node)
			}
			if got := s.Judge(c.node, c.r).words(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// place places a pod on the node.
func (n *Node) place(gpus int) {
	n.Recent = n.Recent.Place(fmt.Sprint(len(n.Recent)), Request{GPUs: gpus}, start)
	n.Requested += gpus
}

func TestRanks(t *testing.T) {
	s := &Shapes{}
	quads := func(name string, free ...int) Node { return node(t, s, name, "c500-8", free) }
	vendor := func(name string, score, loss int) Node {
		return bare(s, name, map[string]string{protocol.ScoresAnnotation: fmt.Sprintf(`{"2":%d}`, score), protocol.LossesAnnotation: fmt.Sprintf(`{"2":%d}`, loss)})
	}
	var many []Node
	var falling []int
	for i := range 13 {
		many = append(many, vendor(fmt.Sprint(i), 1000-i, 0))
		falling = append(falling, max(0, 10-i))
	}
	for name, c := range map[string]struct {
		nodes   []Node
		r       Request
		weights protocol.Weights
		want    []int
	}{
		"none": {nil, Request{2, key.Spread}, protocol.Weights{}, []int{}},
		// a pair alone, of a quad, of an eight, without MetaXLink; too few
		"keys":           {[]Node{quads("a", 0, 1), quads("b", 0, 1, 2, 3), quads("c", all8...), quads("d", 0, 4), quads("e", 0)}, Request{2, key.Spread}, protocol.Weights{}, []int{10, 9, 8, 7, 0}},
		"binpack":        {[]Node{quads("a", 0, 1), quads("b", 0, 1, 2), quads("c", 0, 1, 2, 3)}, Request{2, key.Binpack}, protocol.Weights{}, []int{10, 9, 8}},
		"first":          {[]Node{quads("a", 0, 4), quads("b", 0, 1)}, Request{2, key.First}, protocol.Weights{}, []int{10, 10}},
		"counts are 0":   {[]Node{quads("a", 0, 4), bare(s, "b", nil), quads("c", 0, 1)}, Request{2, key.Spread}, protocol.Weights{}, []int{9, 0, 10}},
		"only counts":    {[]Node{bare(s, "a", nil), bare(s, "b", nil)}, Request{2, key.Spread}, protocol.Weights{}, []int{0, 0}},
		"values":         {[]Node{vendor("a", 110, 30), quads("b", 0, 1), vendor("c", 110, 0), vendor("d", 120, 99)}, Request{2, key.Spread}, protocol.Weights{}, []int{8, 9, 9, 10}},
		"values binpack": {[]Node{vendor("a", 100, 30), quads("b", 0, 1), vendor("c", 90, 0), vendor("d", 120, 99)}, Request{2, key.Binpack}, protocol.Weights{}, []int{8, 10, 9, 7}},
		"values 10,1":    {[]Node{vendor("a", 100, 30), vendor("b", 101, 40)}, Request{2, weighted(t)}, protocol.Weights{}, []int{10, 10}},
		"weights":        {[]Node{vendor("a", 100, 30), vendor("b", 101, 40), quads("c", 0, 1, 2, 3)}, Request{2, key.Spread}, protocol.Weights{Score: 1, Loss: 0.05}, []int{9, 10, 8}},
		"many":           {many, Request{2, key.Spread}, protocol.Weights{}, falling},
	} {
		t.Run(name, func(t *testing.T) {
			var judged []Judgement
			for _, n := range c.nodes {
				judged = append(judged, s.Judge(n, c.r))
			}
			if diff := cmp.Diff(c.want, Ranks(judged, c.r, c.weights)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRanksOfMany: the rank of a node says how many different kinds of nodes are better.
func TestRanksOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 2))
	for range 500 {
		all := make([]Judgement, r.IntN(60))
		better := map[int]bool{} // scores
		for i := range all {
			all[i] = Judgement{Fits: r.IntN(8) > 0, By: Measure(r.IntN(3)), Score: r.IntN(16)}
			if all[i].By == Key {
				all[i].Offer = &Offer{order: string(rune('a' + all[i].Score))}
			}
			better[all[i].Score] = better[all[i].Score] || (all[i].Fits && all[i].By != Counts)
		}
		for i, got := range Ranks(all, Request{2, key.Spread}, protocol.Weights{}) {
			want := 0
			if all[i].Fits && all[i].By != Counts {
				want = MaxRank
				for score, is := range better {
					if is && score > all[i].Score {
						want = max(0, want-1)
					}
				}
			}
			if got != want {
				t.Fatalf("node %d of %+v has rank %d, want %d", i, all, got, want)
			}
		}
	}
}

func weighted(t *testing.T) key.Policy {
	t.Helper()
	p, err := key.Weighted(10, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBruteForce: on random clusters, the nodes with the greatest rank are those with the best
// set of all sets of all nodes.
func TestBruteForce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(20, 1))
	for i := range 200 {
		s := &Shapes{}
		cluster := nodescoretest.Random(r, 1+r.IntN(12))
		n := 1 + r.IntN(5)
		policy := []key.Policy{key.Spread, key.Binpack}[i%2]
		var judged []Judgement
		for _, node := range cluster {
			j := s.Judge(nodeOf(t, s, node), Request{n, policy})
			if j.Fits != (len(node.Free) >= n) {
				t.Fatalf("cluster %d: %d of %v free: %+v", i, n, node.Free, j)
			}
			judged = append(judged, j)
		}
		var got []string
		for at, rank := range Ranks(judged, Request{n, policy}, protocol.Weights{}) {
			if rank == MaxRank {
				got = append(got, cluster[at].Name)
			}
		}
		if want := nodescoretest.Best(cluster, n, policy); !slices.Equal(got, want) {
			t.Errorf("cluster %d, %d GPUs, %v: %v, want %v", i, n, policy, got, want)
		}
	}
}

// TestShapes: nodes that differ only in their UUIDs and models share what is made of them.
func TestShapes(t *testing.T) {
	s := &Shapes{}
	a := node(t, s, "a", "c500-8", all8)
	g := simtest.Node(t, "c500-8")
	g.GPUs = slices.Clone(g.GPUs)
	for i := range g.GPUs {
		g.GPUs[i].UUID, g.GPUs[i].Model = gpu.UUID(fmt.Sprintf("GPU-%d", i)), "MXC999"
	}
	b := nodeOf(t, s, nodescoretest.Node{Name: "b", GPUs: g, Free: all8})
	if a.Shape != b.Shape || a.Shape == node(t, s, "c", "c550-8", all8).Shape {
		t.Error("nodes that are alike do not share a shape, or others do")
	}
	if x, y := s.Judge(a, Request{4, key.Spread}), s.Judge(b, Request{4, key.Spread}); x.Offer != y.Offer {
		t.Error("the same question was answered twice")
	}
}
