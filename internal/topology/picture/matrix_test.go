// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// readMatrix reads a matrix back by the rules of mx-smi's: a header of GPU columns and
// headings, a row per GPU, cells parted by blanks. It fails where a cell does not begin below
// its column.
func readMatrix(text string) (kinds [][]topology.Kind, numa []int, err error) {
	lines := strings.Split(text, "\n")
	header := lines[0]
	columns := strings.Fields(header)
	n := max(0, len(columns)-2)
	if want := "Node Affinity"; !strings.HasSuffix(header, want) {
		return nil, nil, fmt.Errorf("header %q does not end with %q", header, want)
	}
	below := make([]int, n) // where each column begins
	for j := range below {
		below[j] = strings.Index(header, " "+columns[j]+" ") + 1
	}
	for i, line := range lines[1 : n+1] {
		cells := strings.Fields(line)
		if len(cells) < n+2 || cells[0] != fmt.Sprintf("GPU%d", i) {
			return nil, nil, fmt.Errorf("row %d is %q", i, line)
		}
		row := make([]topology.Kind, n)
		for j := range n {
			at := below[j]
			if !strings.HasPrefix(line[at:], cells[j+1]+" ") || line[at-1] != ' ' {
				return nil, nil, fmt.Errorf("row %d: %q is not below %s", i, cells[j+1], columns[j])
			}
			k, ok := topology.ParseKind(cells[j+1])
			if i == j {
				k, ok = topology.MX, cells[j+1] == "X"
			}
			if !ok {
				return nil, nil, fmt.Errorf("row %d, column %d is %q", i, j, cells[j+1])
			}
			row[j] = k
		}
		node, err := strconv.Atoi(cells[n+1])
		if cells[n+1] == "NA" {
			node, err = gpu.NUMAUnknown, nil
		}
		if err != nil {
			return nil, nil, err
		}
		kinds, numa = append(kinds, row), append(numa, node)
	}
	if lines[n+1] != "" || lines[n+2] != "Legend:" {
		return nil, nil, fmt.Errorf("no legend below the last row: %q", lines[n+1:])
	}
	return kinds, numa, nil
}

func checkMatrix(t *testing.T, v View) {
	t.Helper()
	text := render(t, Matrix, v)
	kinds, numa, err := readMatrix(text)
	if err != nil {
		t.Fatalf("%v, in\n%s", err, text)
	}
	g, _ := topology.New(v.Node)
	if len(kinds) != g.Len() {
		t.Fatalf("%d rows of %d GPUs", len(kinds), g.Len())
	}
	var wantNUMA []int
	for i := range g.Len() {
		var want []topology.Kind
		for j := range g.Len() {
			want = append(want, g.Kind(i, j))
		}
		if !slices.Equal(want, kinds[i]) {
			t.Errorf("row of GPU %d (-want +got):\n%s", i, cmp.Diff(want, kinds[i]))
		}
		wantNUMA = append(wantNUMA, v.Node.GPUs[i].NUMA)
	}
	if diff := cmp.Diff(wantNUMA, numa); diff != "" {
		t.Errorf("NUMA nodes (-want +got):\n%s", diff)
	}
	_, legend, _ := strings.Cut(text, "Legend:\n")
	for _, k := range topology.Kinds() {
		occurs := false
		for i := range g.Len() {
			for j := range i {
				occurs = occurs || g.Kind(i, j) == k
			}
		}
		if line := fmt.Sprintf("  %-4s = %s\n", k, k.Meaning()); strings.Contains(legend, line) != occurs {
			t.Errorf("%s occurs: %v, in the legend: %v", k, occurs, !occurs)
		}
	}
}

func TestMatrixReadsBack(t *testing.T) {
	for name, view := range views(t) {
		t.Run(name, func(t *testing.T) { checkMatrix(t, view) })
	}
	for _, n := range []int{0, 1, 64, 101, 1001} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			node := gpu.NewNode("")
			for i := range n {
				node.GPUs = append(node.GPUs, gpu.GPU{Index: i, NUMA: i/10 - 1})
			}
			checkMatrix(t, View{Node: node})
		})
	}
}

// FuzzMatrix makes a node from bytes and reads its matrix back: the first byte is the number
// of GPUs, then come NUMA nodes and kinds.
func FuzzMatrix(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 1, 255, 6, 2, 0})
	f.Add([]byte{64, 7, 7, 7})
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		v := View{Node: gpu.NewNode("")}
		for i := range next() % 24 {
			b := next()
			v.Node.GPUs = append(v.Node.GPUs, gpu.GPU{Index: i, NUMA: b%9 - 1, Healthy: b&64 == 0})
			if b&128 != 0 {
				v.InUse = append(v.InUse, i)
			}
			for j := range i {
				if k := next(); k < int(numKinds) {
					v.Node.Links = append(v.Node.Links, gpu.Link{A: j, B: i, Kind: topology.Kind(k).String()})
				}
			}
		}
		checkMatrix(t, v)
	})
}
