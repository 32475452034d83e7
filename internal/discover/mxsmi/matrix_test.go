// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

// square is a matrix of n GPUs: those of one group of that size are linked by
// MetaXLink, the others by across.
func square(n, size int, across topology.Kind) [][]topology.Kind {
	kinds := make([][]topology.Kind, n)
	for i := range kinds {
		kinds[i] = make([]topology.Kind, n)
		for j := range kinds[i] {
			switch {
			case i == j:
			case i/size == j/size:
				kinds[i][j] = topology.MX
			default:
				kinds[i][j] = across
			}
		}
	}
	return kinds
}

func TestParseMatrixSamples(t *testing.T) {
	eight := []int{0, 1, 2, 3, 4, 5, 6, 7}
	oam := strings.Fields("0-15,128-143 0-15,128-143 32-47,160-175 32-47,160-175 64-79,192-207 64-79,192-207 96-111,224-239 96-111,224-239")
	none := slices.Repeat([]int{gpu.NUMAUnknown}, 8)
	for _, test := range []struct {
		file string
		want Matrix
	}{
		{"topo-c500-node.txt", Matrix{GPUs: eight, Kinds: square(8, 4, topology.NODE), NUMA: make([]int, 8), CPUs: slices.Repeat([]string{"0-31,64-95"}, 8)}},
		{"topo-c500-nics.txt", Matrix{GPUs: eight, Kinds: square(8, 4, topology.NODE), NUMA: make([]int, 8), CPUs: slices.Repeat([]string{"0-31,64-95"}, 8)}},
		{"topo-c500-sys.txt", Matrix{GPUs: eight, Kinds: square(8, 4, topology.SYS), NUMA: none, CPUs: make([]string, 8)}},
		{"topo-c550.txt", Matrix{GPUs: eight, Kinds: square(8, 8, topology.Unknown), NUMA: []int{0, 0, 2, 2, 4, 4, 6, 6}, CPUs: oam}},
	} {
		t.Run(test.file, func(t *testing.T) {
			got, err := ParseMatrix(sample(t, test.file))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseMatrix(t *testing.T) {
	const mx, sys, na = topology.MX, topology.SYS, topology.Unknown
	two := func(k topology.Kind) [][]topology.Kind { return [][]topology.Kind{{0, k}, {k, 0}} }
	unknown := []int{gpu.NUMAUnknown, gpu.NUMAUnknown}
	for _, test := range []struct {
		name, text string
		want       Matrix
		warnings   []string // a part of each
	}{
		{
			"nothing but the matrix", "\tGPU0 GPU1\r\nGPU0\tX\tMX\r\nGPU1\tMX\tX\r\n",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: unknown},
			nil,
		},
		{
			"blank lines between rows", "GPU0 GPU1\n\nGPU0 X SYS\n\n\nGPU1 SYS X",
			Matrix{GPUs: []int{0, 1}, Kinds: two(sys), NUMA: unknown},
			nil,
		},
		{
			"columns in another order", "GPU1 GPU0 Node Affinity\nGPU0 MX X 0\nGPU1 X MX 1",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: []int{0, 1}},
			nil,
		},
		{
			"one GPU", "GPU0 Node Affinity CPU Affinity\nGPU0 X 0 0-31",
			Matrix{GPUs: []int{0}, Kinds: [][]topology.Kind{{0}}, NUMA: []int{0}},
			nil,
		},
		{
			"numbers left out", "GPU2 GPU5\nGPU2 X MX\nGPU5 MX X",
			Matrix{GPUs: []int{2, 5}, Kinds: two(mx), NUMA: unknown},
			nil,
		},
		{
			"the legend is none of the rows", "GPU0 GPU1\nGPU0 X MX\nGPU1 MX X\nLegend:\nGPU0 anything",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: unknown},
			nil,
		},
		{
			"CPU affinity only", "GPU0 GPU1 CPU Affinity\nGPU0 X MX 0-31\nGPU1 MX X 32-63",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: unknown},
			nil,
		},
		{
			"affinity that says nothing", "GPU0 GPU1 Node Affinity CPU Affinity\nGPU0 X MX NA 0-31\nGPU1 MX X -1 0-31",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: unknown},
			nil,
		},
		{
			"affinity that is no number", "GPU0 GPU1 Node Affinity CPU Affinity\nGPU0 X MX 0-1 0-31\nGPU1 MX X 1 0-31",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: []int{gpu.NUMAUnknown, 1}},
			[]string{`NUMA node of GPU0 is not known: no number below "Node Affinity" in ["0-1" "0-31"]`},
		},
		{
			"affinity missing in one row", "GPU0 GPU1 Node Affinity CPU Affinity\nGPU0 X MX 7\nGPU1 MX X 1 0-31",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: []int{gpu.NUMAUnknown, 1}},
			[]string{"NUMA node of GPU0 is not known"},
		},
		{
			"a heading that is new", "GPU0 GPU1 Node Affinity Die\nGPU0 X MX 0 0\nGPU1 MX X 1 0",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: unknown},
			[]string{`unknown heading "Die"`},
		},
		{
			"cells that differ", "GPU0 GPU1\nGPU0 X MX\nGPU1 SYS X",
			Matrix{GPUs: []int{0, 1}, Kinds: two(sys), NUMA: unknown},
			[]string{"not symmetric; the worse link of a pair counts: GPU0–GPU1 is MX one way and SYS the other"},
		},
		{
			"unknown one way", "GPU0 GPU1\nGPU0 X MX\nGPU1 NA X",
			Matrix{GPUs: []int{0, 1}, Kinds: two(na), NUMA: unknown},
			[]string{"GPU0–GPU1 is MX one way and NA the other"},
		},
		{
			"words that are new", "GPU0 GPU1\nGPU0 X MX7\nGPU1 MX7 X",
			Matrix{GPUs: []int{0, 1}, Kinds: two(na), NUMA: unknown},
			[]string{`unknown kind of link "MX7": row GPU0, column GPU1 (2 cells)`},
		},
		{
			"Ethernet, as the legend has it", "GPU0 GPU1 Node Affinity\nGPU0 X ETH 0\nGPU1 ETH X 0",
			Matrix{GPUs: []int{0, 1}, Kinds: two(na), NUMA: []int{0, 0}},
			nil,
		},
		{
			"fewer GPUs than attached", "Attached GPUs : 8\nGPU0 GPU1\nGPU0 X MX\nGPU1 MX X",
			Matrix{GPUs: []int{0, 1}, Kinds: two(mx), NUMA: unknown},
			[]string{`the matrix has 2 GPUs, but "Attached GPUs" is "8"`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseMatrix(test.text)
			if err != nil {
				t.Fatal(err)
			}
			warnings := got.Warnings
			got.Warnings, got.CPUs = nil, nil // TestParseMatrixSamples compares the processors
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, test.warnings, warnings)
		})
	}
}

func TestParseMatrixErrors(t *testing.T) {
	full := sample(t, "topo-c500-node.txt")
	// edit drops the i-th word of the first line that begins with name.
	edit := func(name string, i int) string {
		lines := strings.Split(full, "\n")
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, name) })
		words := strings.Fields(lines[at])
		lines[at] = strings.Join(slices.Delete(words, i, i+1), " ")
		return strings.Join(lines, "\n")
	}
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "no line of column names"},
		{"no matrix", "mx-smi  version: 2.2.9\nNo devices were found", "no line of column names"},
		{"network cards only", "NIC0 NIC1\nNIC0 X PIX\nNIC1 PIX X", "no column of a GPU"},
		{"header only", "GPU0 GPU1", "column GPU0 has no row"},
		{"row missing", "GPU0 GPU1\nGPU0 X MX\n", "column GPU1 has no row"},
		{"row cut off", "GPU0 GPU1 GPU2\nGPU0 X MX MX\nGPU1 MX", "row GPU1 has 1 cells for 3 columns: none is left for column GPU1"},
		{"last cell missing in a row", edit("GPU3", 8), `row GPU3, column GPU7: "0" is not a kind of link`},
		{"cell missing before the X", edit("GPU3", 1), `row GPU3, column GPU2: "X"`},
		{"cell missing behind the X", edit("GPU3", 5), `row GPU3, column GPU7: "0" is not a kind of link`},
		{"column missing in the header", edit("        GPU0", 5), "row GPU0 has more links than there are columns"},
		{"column missing in header and rows", "GPU0 GPU2\nGPU0 X MX\nGPU1 MX MX\nGPU2 MX X", "row GPU1 has no column"},
		{"column and row too many", "GPU0 GPU1\nGPU0 X MX\nGPU1 MX X\nGPU2 MX MX", "row GPU2 has no column"},
		{"row twice", "GPU0 GPU1\nGPU0 X MX\nGPU0 X MX\nGPU1 MX X", "row GPU0 occurs twice"},
		{"column twice", "GPU0 GPU0\nGPU0 X X", "column GPU0 occurs twice"},
		{"X off the diagonal", "GPU0 GPU1\nGPU0 X X\nGPU1 X X", `row GPU0, column GPU1: "X"`},
		{"no X", "GPU0 GPU1\nGPU0 MX MX\nGPU1 MX X", `row GPU0, column GPU0: "MX"`},
		{"cells without headings", "GPU0 GPU1\nGPU0 X MX 0\nGPU1 MX X 0", "row GPU0 has 1 cells more than there are columns"},
		{"abbreviated columns", "GPU0 GPU1 ... GPU7\nGPU0 X MX ... MX", "column GPU1 has no row"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseMatrix(test.text)
			if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestNodeFromMatrix(t *testing.T) {
	got, err := NodeFromMatrix("GPU0 GPU1 GPU2 GPU4 Node Affinity\nGPU0 X MX SYS SYS 0\nGPU1 MX X SYS SYS 0\nGPU2 SYS SYS X NA 1\nGPU4 SYS SYS NA X NA")
	if err != nil {
		t.Fatal(err)
	}
	want := gpu.Node{
		APIVersion: gpu.APIVersion, Kind: gpu.NodeKind,
		GPUs: []gpu.GPU{
			{Index: 0, NUMA: 0, LinkDomain: 1, Healthy: true},
			{Index: 1, NUMA: 0, LinkDomain: 1, Healthy: true},
			{Index: 2, NUMA: 1, Healthy: true},
			{Index: 3, NUMA: gpu.NUMAUnknown, Healthy: true},
		},
		Links: []gpu.Link{
			{A: 0, B: 1, Kind: "MX"},
			{A: 0, B: 2, Kind: "SYS"},
			{A: 0, B: 3, Kind: "SYS"},
			{A: 1, B: 2, Kind: "SYS"},
			{A: 1, B: 3, Kind: "SYS"},
			{A: 2, B: 3, Kind: "NA"},
		},
		Warnings: []string{"the matrix lacks some GPU numbers: GPUs are renumbered from 0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := NodeFromMatrix("GPU0 GPU1"); !errors.Is(err, ErrFormat) {
		t.Errorf("error is %v, want ErrFormat", err)
	}
}

func FuzzParseMatrix(f *testing.F) {
	for _, name := range []string{"topo-c500-node.txt", "topo-c500-nics.txt", "topo-c500-sys.txt", "topo-c550.txt"} {
		f.Add(sample(f, name))
	}
	f.Add("GPU2 NIC0 GPU0 Node Affinity Die\nGPU0 PIX MX X 0\nNIC0\nGPU2 X SYS ETH")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMatrix(text)
		if err != nil {
			return
		}
		n := len(m.GPUs)
		if n == 0 || len(m.Kinds) != n || len(m.NUMA) != n || !slices.IsSorted(m.GPUs) {
			t.Fatalf("%d GPUs %v, %d rows, %d NUMA nodes", n, m.GPUs, len(m.Kinds), len(m.NUMA))
		}
		for i := range n {
			for j := range n {
				if m.Kinds[i][j] != m.Kinds[j][i] {
					t.Errorf("%d-%d is not symmetric", i, j)
				}
			}
		}
		oneLine(t, m.Warnings)
		node, err := NodeFromMatrix(text)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(node)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := gpu.DecodeNode(data); err != nil {
			t.Error(err)
		} else if diff := cmp.Diff(node, again); diff != "" {
			t.Errorf("changed by its JSON form: %s", diff)
		}
	})
}
