// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Matrix writes the class of every pair in the form of "mx-smi topo -m", or of "topo -n" if
// the node has network cards: a header row; a row per GPU with X for itself, the NUMA node
// and, if they are known, the processors ("NA" if unknown); a row per network card; a legend
// of the words that occur; and the lost MetaXLinks. Programs that parse mx-smi's matrix can
// parse this one: the marks of a GPU follow at the end of its row.
func Matrix(w io.Writer, v View) error {
	s, err := v.checkView()
	if err != nil {
		return err
	}
	var devices []string
	for i := range s.gpus {
		devices = append(devices, fmt.Sprintf("GPU%d", i))
	}
	for i := range s.nics {
		devices = append(devices, nicName(i))
	}
	var b bytes.Buffer
	seen := s.matrixRows(&b, devices)
	b.WriteString("\nLegend:\n  X    = the device itself\n")
	for _, k := range topology.Kinds() {
		if seen[k] {
			fmt.Fprintf(&b, "  %-4s = %s\n", k, k.Meaning())
		}
	}
	if len(s.nics) > 0 {
		b.WriteString("\nNIC Legend:\n")
	}
	for i, n := range s.nics {
		fmt.Fprintf(&b, "  %s: %s\n", nicName(i), terminal.Line(n.Name))
	}
	if lost := s.lost.Lines(); lost != nil {
		b.WriteString("\n" + strings.Join(lost, "\n") + "\n")
	}
	s.addNote(&b)
	return writePicture(w, "matrix", b.Bytes())
}

// nicName is the name of a network card in the pictures, by its place in the list.
func nicName(i int) string { return fmt.Sprintf("NIC%d", i) }

// matrixRows writes the header and the rows, and returns the kinds that occur.
func (s *checkedView) matrixRows(b *bytes.Buffer, devices []string) (seen [numKinds]bool) {
	affinities := []string{"Node Affinity"}
	cpus := 0 // the width of the longest list
	for _, g := range s.gpus {
		cpus = max(cpus, len(g.CPUs))
	}
	if cpus > 0 {
		affinities = append(affinities, "CPU Affinity")
	}
	width := 8
	for _, d := range devices {
		width = max(width, len(d)+2)
	}
	line := func(cells, rest []string) {
		var row strings.Builder
		for _, c := range cells {
			fmt.Fprintf(&row, "%-*s", width, c)
		}
		for i, c := range rest {
			column := 0
			if i < len(affinities) {
				column = len(affinities[i])
			}
			if i == 1 {
				column = max(column, cpus)
			}
			fmt.Fprintf(&row, "%-*s", column+2, c)
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	line(append([]string{""}, devices...), affinities)
	for i, name := range devices {
		cells := []string{name}
		for j := range devices {
			if i == j {
				cells = append(cells, "X")
				continue
			}
			k := s.deviceKind(i, j)
			seen[k] = true
			cells = append(cells, k.String())
		}
		var rest []string
		if i < len(s.gpus) {
			g := s.gpus[i]
			numa := topology.Unknown.String()
			if g.NUMA != gpu.NUMAUnknown {
				numa = strconv.Itoa(g.NUMA)
			}
			rest = append(rest, numa)
			if cpus > 0 {
				rest = append(rest, cmp.Or(g.CPUs, topology.Unknown.String()))
			}
			rest = append(rest, s.statusWords(i))
		}
		line(cells, rest)
	}
	return seen
}

// deviceKind returns the kind of link between two devices: GPUs, and after them network
// cards.
func (s *checkedView) deviceKind(i, j int) topology.Kind {
	n := len(s.gpus)
	if i < n && j < n {
		return s.graph.Kind(i, j)
	}
	place := func(i int) gpu.GPU {
		if i < n {
			return s.gpus[i]
		}
		return nicPlace(s.nics[i-n])
	}
	return topology.PCIeKind(place(i), place(j))
}
