package topology

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Matrix writes the class of every pair in the form of "mx-smi topo -m": a
// header row, a row per GPU with X for itself, the NUMA node ("NA" where it is
// unknown), and a legend of the words that occur. Where a GPU is picked, busy or
// unhealthy a last column "Use" says so; without one the text reads back as
// mx-smi's does.
func Matrix(w io.Writer, v View) error {
	s, err := v.scene()
	if err != nil {
		return err
	}
	const numaHeader = "Node Affinity"
	n := len(s.gpus)
	width := max(8, len(fmt.Sprintf("GPU%d", max(n-1, 0)))+2)
	use := false
	for i := range n {
		use = use || len(s.status(i)) > 0
	}
	var b bytes.Buffer
	line := func(cells []string, numa, marks string) {
		for _, c := range cells {
			fmt.Fprintf(&b, "%-*s", width, c)
		}
		if !use {
			b.WriteString(numa + "\n")
			return
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-*s%s", len(numaHeader)+2, numa, marks), " ") + "\n")
	}
	cells := make([]string, n+1)
	for i := range n {
		cells[i+1] = fmt.Sprintf("GPU%d", i)
	}
	line(cells, numaHeader, "Use")
	var seen [numKinds]bool
	for i, g := range s.gpus {
		cells[0] = fmt.Sprintf("GPU%d", i)
		for j := range n {
			k := s.graph.Kind(i, j)
			cells[j+1] = k.String()
			if i == j {
				cells[j+1] = "X"
			} else {
				seen[k] = true
			}
		}
		numa := Unknown.String()
		if g.NUMA >= 0 {
			numa = fmt.Sprint(g.NUMA)
		}
		line(cells, numa, strings.Join(s.status(i), ", "))
	}
	b.WriteString("\nLegend:\n  X    = the GPU itself\n")
	for _, k := range Kinds() {
		if seen[k] {
			fmt.Fprintf(&b, "  %-4s = %s\n", k, k.Meaning())
		}
	}
	return write(w, "matrix", b.Bytes())
}
