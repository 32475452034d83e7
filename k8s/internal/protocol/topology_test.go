// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// trip is the Graph of a node, and that of its annotation.
func trip(t testing.TB, n gpu.Node) (before, after *topology.Graph, text string) {
	t.Helper()
	made, err := NewNodeTopology(n)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseNodeTopology(made.String())
	if err != nil {
		t.Fatalf("%v: %s", err, made)
	}
	if diff := cmp.Diff(made, read); diff != "" {
		t.Fatal(diff)
	}
	back, err := read.Node()
	if err != nil {
		t.Fatal(err)
	}
	before, _ = topology.New(n)
	after, warnings := topology.New(back)
	if len(warnings) > 0 {
		t.Error(warnings)
	}
	return before, after, made.String()
}

func same(t testing.TB, before, after *topology.Graph) {
	t.Helper()
	if before.Len() != after.Len() {
		t.Fatalf("%d GPUs became %d", before.Len(), after.Len())
	}
	for i := range before.Len() {
		for j := range before.Len() {
			if before.Kind(i, j) != after.Kind(i, j) || before.Locality(i, j) != after.Locality(i, j) {
				t.Errorf("pair %d-%d: %s, %d became %s, %d", i, j, before.Kind(i, j), before.Locality(i, j), after.Kind(i, j), after.Locality(i, j))
			}
		}
	}
}

// TestRoundTrip: the annotation of every built-in node gives the same graph, and has at most 4
// KiB for 8 GPUs and 16 KiB for 64.
func TestRoundTrip(t *testing.T) {
	for _, name := range append(sim.Names(), "sim:2x2x2", "sim:16x2x4") {
		t.Run(name, func(t *testing.T) {
			n := simtest.Node(t, name)
			before, after, text := trip(t, n)
			same(t, before, after)
			if most := 4 << 10; len(n.GPUs) <= 8 && len(text) > most {
				t.Errorf("%d bytes for %d GPUs", len(text), len(n.GPUs))
			}
			if most := 16 << 10; len(n.GPUs) <= 64 && len(text) > most {
				t.Errorf("%d bytes for %d GPUs", len(text), len(n.GPUs))
			}
			bare := n
			bare.GPUs = slices.Clone(n.GPUs)
			for i := range bare.GPUs {
				bare.GPUs[i] = gpu.GPU{Index: i, NUMA: gpu.NUMAUnknown} // as in a bare matrix
			}
			before, after, text = trip(t, bare)
			same(t, before, after)
			if most := 16 << 10; len(text) > most {
				t.Errorf("%d bytes for %d GPUs without places", len(text), len(n.GPUs))
			}
		})
	}
}

// TestNodeTopologyText has the whole annotation of a degraded node.
func TestNodeTopologyText(t *testing.T) {
	n := simtest.Node(t, "c500-4-degraded")
	made, err := NewNodeTopology(n)
	var b strings.Builder
	for i, g := range n.GPUs {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"uuid":"%s","model":"MXC500","numa":0,"bridges":[1,2,3,%d],"switch":3}`, g.UUID, 4+i)
	}
	want := `{"version":1,"gpus":[` + b.String() + `],"domains":["0-3"],"exceptions":{"PIX":"0:3"}}`
	if err != nil || made.String() != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, made, want)
	}
}

func TestNodeTopologyTooLarge(t *testing.T) {
	n := simtest.Node(t, "sim:65x1x4")
	if _, err := NewNodeTopology(n); !errors.Is(err, ErrAnnotation) {
		t.Errorf("error is %v", err)
	}
	n = gpu.NewNode("")
	for i := range maxTopologyGPUs {
		n.GPUs = append(n.GPUs, gpu.GPU{Index: i, PCIePath: make([]gpu.BDF, 200)})
	}
	if _, err := NewNodeTopology(n); !errors.Is(err, ErrAnnotation) {
		t.Errorf("error is %v", err)
	}
}

func TestParseNodeTopologyRejects(t *testing.T) {
	four := `"gpus":[{},{},{},{}]`
	for _, test := range []struct{ members, want string }{
		{`"version":2`, "version 2; want 1"},
		{`"gpus":"x"`, "cannot unmarshal"},
		{`"gpus":[{"uuid":"GPU-a"},{"uuid":"GPU-A"}]`, "two GPUs have the UUID GPU-A"},
		{`"gpus":[{"uuid":"a b"}]`, "not a GPU UUID"},
		{`"gpus":[{"model":"a\u001b[2J"}]`, "GPU 0 has an invalid model"},
		{`"gpus":[{"model":"` + strings.Repeat("a", 65) + `"}]`, "GPU 0 has an invalid model"},
		{`"gpus":[{"numa":-1}]`, "GPU 0 has an invalid NUMA node"},
		{`"gpus":[{"numa":1000000000}]`, "GPU 0 has an invalid NUMA node"},
		{`"gpus":[{},{"bridges":[0,0]}]`, "GPU 1 has an invalid bridge"},
		{`"gpus":[{"bridges":[-1]}]`, "GPU 0 has an invalid bridge"},
		{`"gpus":[{"bridges":[1` + strings.Repeat(",1", 32) + `]}]`, "GPU 0 has an invalid number of bridges"},
		{`"gpus":[{"switch":-1}]`, "GPU 0 has an invalid switch"},
		{`"gpus":[{}` + strings.Repeat(",{}", 256) + `]`, "257 GPUs; at most 256"},
		{four + `,"domains":["0-4"]`, `"0-4" is not a list of GPUs below 4`},
		{four + `,"domains":["3-2"]`, `"3-2" is not a list`},
		{four + `,"domains":["0,0"]`, `"0,0" is not a list`},
		{four + `,"domains":["1,0"]`, `"1,0" is not a list`},
		{four + `,"domains":[""]`, `"" is not a list`},
		{four + `,"domains":["0-"]`, `"0-" is not a list`},
		{four + `,"domains":["+0"]`, `"+0" is not a list`},
		{four + `,"domains":["0-1","1-2"]`, "GPU 1 is in two domains"},
		{four + `,"exceptions":{"XX":"0:1"}`, `exceptions of kind "XX"`},
		{four + `,"exceptions":{"SWITCH":"0:1"}`, `exceptions of kind "SWITCH"`},
		{four + `,"exceptions":{"SYS":"1:0"}`, `exception "1:0"`},
		{four + `,"exceptions":{"SYS":"1:1"}`, `exception "1:1"`},
		{four + `,"exceptions":{"SYS":"0-1:2"}`, `exception "0-1:2"`},
		{four + `,"exceptions":{"SYS":"0"}`, `exception "0"`},
		{four + `,"exceptions":{"SYS":"0:1-4"}`, `exception "0:1-4"`},
		{four + `,"exceptions":{"SYS":"0:1","PIX":"0:1-2"}`, "pair 0:1 is an exception twice"},
		{`"x":"` + strings.Repeat("a", maxTopologyText) + `"`, "at most 65536 are read"},
	} {
		text := `{"version":1,` + test.members + `}`
		if strings.HasPrefix(test.members, `"version"`) {
			text = "{" + test.members + "}"
		}
		got, err := ParseNodeTopology(text)
		if !errors.Is(err, ErrAnnotation) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.80s gives %v; want %s", text, err, test.want)
		}
		if diff := cmp.Diff(NodeTopology{}, got); diff != "" {
			t.Errorf("%.80s gives %s", text, diff)
		}
	}
	for _, text := range []string{``, `null`, `[]`, `{"version":1}x`} {
		if _, err := ParseNodeTopology(text); !errors.Is(err, ErrAnnotation) {
			t.Errorf("%q gives %v", text, err)
		}
	}
}

// FuzzParseNodeTopology: what is read has a Node, and the annotation of that has the same
// graph.
func FuzzParseNodeTopology(f *testing.F) {
	f.Add(`{"version":1,"gpus":[{},{},{"uuid":"GPU-a","numa":1,"bridges":[1,2],"switch":2}],"domains":["0-1"],"exceptions":{"SYS":"0:1-2"}}`)
	f.Add(`{"version":1,"gpus":[{"bridges":[0,5]},{"bridges":[0,5]},{"switch":5}],"exceptions":{"NA":"0:1 1:2","MX":"0:2"}}`)
	f.Add(`{"version":1,"domains":["0"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		read, err := ParseNodeTopology(text)
		if err != nil {
			if len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %q", err)
			}
			return
		}
		n, err := read.Node()
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		if len(n.GPUs) <= 32 {
			before, after, _ := trip(t, n)
			same(t, before, after)
		}
	})
}
