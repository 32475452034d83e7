package topology

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Matrix writes the class of every pair in the form of "mx-smi topo -m": a
// header row; a row per GPU with X for itself and the NUMA node ("NA" if it is unknown);
// and a legend of the words that occur. Programs that parse mx-smi's matrix can parse this
// one: the marks of a GPU follow at the end of its row.
func Matrix(w io.Writer, v View) error {
	s, err := v.check()
	if err != nil {
		return err
	}
	const numaHeader = "Node Affinity"
	n := len(s.gpus)
	width := max(8, len(fmt.Sprintf("GPU%d", max(n-1, 0)))+2)
	var b bytes.Buffer
	line := func(cells []string, numa, marks string) {
		for _, c := range cells {
			fmt.Fprintf(&b, "%-*s", width, c)
		}
		if marks != "" {
			numa = fmt.Sprintf("%-*s%s", len(numaHeader)+2, numa, marks)
		}
		b.WriteString(numa + "\n")
	}
	cells := make([]string, n+1)
	for i := range n {
		cells[i+1] = fmt.Sprintf("GPU%d", i)
	}
	line(cells, numaHeader, "")
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
		if g.NUMA != gpu.NUMAUnknown {
			numa = strconv.Itoa(g.NUMA)
		}
		line(cells, numa, s.statusWords(i))
	}
	b.WriteString("\nLegend:\n  X    = the GPU itself\n")
	for _, k := range Kinds() {
		if seen[k] {
			fmt.Fprintf(&b, "  %-4s = %s\n", k, k.Meaning())
		}
	}
	s.addNote(&b)
	return writePicture(w, "matrix", b.Bytes())
}
