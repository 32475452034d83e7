// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Matrix is the output of `mx-smi topo -m`, or of `topo -n` without the network cards.
type Matrix struct {
	// GPUs are the tool's numbers (the n of "GPUn"), ascending.
	GPUs []int
	// Kinds[i][j] is the link between GPUs[i] and GPUs[j]. The matrix is symmetric; its
	// diagonal has no meaning.
	Kinds [][]topology.Kind
	// NUMA is the column "Node Affinity"; gpu.NUMAUnknown if it is absent or not one
	// number.
	NUMA []int
	// CPUs is the column "CPU Affinity"; empty if it is absent or not a list.
	CPUs     []string
	Warnings []string
}

// ParseMatrix parses a matrix of links. If the two cells of a pair differ, the worse
// one counts, and an unknown word counts as an unknown kind of link, each with a
// warning. A missing cell, row or column is an error that names it, because the columns
// of the other cells are uncertain then.
func ParseMatrix(text string) (Matrix, error) {
	m, err := parseMatrix(text)
	if err != nil {
		return Matrix{}, fmt.Errorf("read matrix of links: %w: %w", ErrFormat, err)
	}
	return m, nil
}

func parseMatrix(text string) (Matrix, error) {
	h, rows, attached, err := headerAndRows(text)
	if err != nil {
		return Matrix{}, err
	}
	b := &builder{header: h, cells: map[[2]int]topology.Kind{}, numa: map[int]int{}, cpus: map[int]string{}}
	if h.unread != "" {
		b.warn("NUMA nodes are not known: unknown heading %q", h.unread)
	}
	for _, fields := range rows {
		if err := b.row(fields); err != nil {
			return Matrix{}, err
		}
	}
	if !slices.ContainsFunc(h.columns, device.isGPU) {
		return Matrix{}, errors.New("no column of a GPU")
	}
	for _, c := range h.columns {
		if _, ok := b.numa[c.n]; c.isGPU() && !ok {
			return Matrix{}, fmt.Errorf("column %s has no row", c)
		}
	}
	if attached != "" && attached != fmt.Sprint(len(b.numa)) {
		b.warn(`the matrix has %d GPUs, but "Attached GPUs" is %q`, len(b.numa), attached)
	}
	return b.matrix(), nil
}

// headerAndRows finds the line of column names and the rows below it. It skips the
// lines before and after (log header, legend), except for the number of attached GPUs.
func headerAndRows(text string) (h header, rows [][]string, attached string, err error) {
	for _, line := range numberedLines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case !isDevice(fields[0]):
			if rows != nil {
				return h, rows, attached, nil // the legend begins
			}
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "Attached GPUs" {
				attached = strings.TrimSpace(value)
			}
		case h.columns == nil:
			if h, err = parseHeader(fields); err != nil {
				return h, nil, "", err
			}
		default:
			rows = append(rows, fields)
		}
	}
	if h.columns == nil {
		return h, nil, "", errors.New("no line of column names such as GPU0 GPU1")
	}
	return h, rows, attached, nil
}

// builder collects the cells of the GPUs' rows.
type builder struct {
	header
	cells    map[[2]int]topology.Kind // by row and column
	numa     map[int]int              // by row
	cpus     map[int]string           // by row
	unknown  []unknownWord
	warnings []string
}

func (b *builder) warn(format string, a ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, a...))
}

// row parses "GPU0 X MX … 0 0-31,64-95". Rows of network cards are skipped.
func (b *builder) row(fields []string) error {
	self, _ := parseDevice(fields[0])
	if !self.isGPU() {
		return nil
	}
	if _, twice := b.numa[self.n]; twice {
		return fmt.Errorf("row %s occurs twice", self)
	}
	if !slices.Contains(b.columns, self) {
		return fmt.Errorf("row %s has no column", self)
	}
	cells := fields[1:]
	if len(cells) < len(b.columns) {
		return fmt.Errorf("row %s has %d cells for %d columns: none is left for column %s",
			self, len(cells), len(b.columns), b.columns[len(cells)])
	}
	for i, column := range b.columns {
		if err := b.cell(self, column, cells[i]); err != nil {
			return err
		}
	}
	numa, err := b.affinity(self, cells[len(b.columns):])
	b.numa[self.n] = numa
	if at := slices.Index(b.headings, cpuAffinity); at >= 0 && at < len(cells)-len(b.columns) {
		if list := cells[len(b.columns)+at]; gpu.ValidCPUList(list) {
			b.cpus[self.n] = list
		}
	}
	return err
}

// cell parses one cell. The position of the X shows whether a cell is missing.
func (b *builder) cell(row, column device, word string) error {
	if (word == selfCell) != (row == column) {
		return fmt.Errorf("row %s, column %s: %q (X is valid on the diagonal only): a cell or a column is missing", row,
			column, word)
	}
	if row == column || !column.isGPU() {
		return nil
	}
	kind, ok := topology.ParseKind(word)
	if !ok {
		if !isWord(word) {
			return fmt.Errorf("row %s, column %s: %q is not a kind of link: a cell is missing", row, column, word)
		}
		b.addUnknownWord(row, column, word)
	}
	b.cells[[2]int{row.n, column.n}] = kind
	return nil
}

// matrix orders the collected cells by GPU number and makes the matrix symmetric.
func (b *builder) matrix() Matrix {
	m := Matrix{GPUs: slices.Sorted(maps.Keys(b.numa))}
	for range m.GPUs {
		m.Kinds = append(m.Kinds, make([]topology.Kind, len(m.GPUs)))
	}
	var uneven []string
	for i, row := range m.GPUs {
		m.NUMA = append(m.NUMA, b.numa[row])
		m.CPUs = append(m.CPUs, b.cpus[row])
		for j, column := range m.GPUs[:i] {
			there, back := b.cells[[2]int{column, row}], b.cells[[2]int{row, column}]
			if there != back {
				uneven = append(uneven, fmt.Sprintf("GPU%d–GPU%d is %s one way and %s the other", column, row, there, back))
			}
			worse := min(there, back)
			m.Kinds[i][j], m.Kinds[j][i] = worse, worse
		}
	}
	b.warnUnknownWords()
	if len(uneven) > 0 {
		b.warn("the matrix is not symmetric; the worse link of a pair counts: %s", wording.Some(uneven, 8))
	}
	m.Warnings = b.warnings
	return m
}

// unknownWord is a word in a cell that is not a known kind of link.
type unknownWord struct {
	word, first string
	count       int
}

func (b *builder) addUnknownWord(row, column device, word string) {
	at := slices.IndexFunc(b.unknown, func(s unknownWord) bool { return s.word == word })
	if at < 0 {
		at = len(b.unknown)
		b.unknown = append(b.unknown, unknownWord{word: word, first: fmt.Sprintf("row %s, column %s", row, column)})
	}
	b.unknown[at].count++
}

func (b *builder) warnUnknownWords() {
	for _, s := range b.unknown {
		b.warn("unknown kind of link %q: %s (%d cells)", s.word, s.first, s.count)
	}
}

// affinity parses the cells after the links: "0 0-31,64-95" below "Node Affinity  CPU
// Affinity". It returns the NUMA node.
func (b *builder) affinity(row device, cells []string) (int, error) {
	if len(cells) > 0 {
		if _, link := topology.ParseKind(cells[0]); (link && cells[0] != topology.Unknown.String()) || cells[0] == selfCell {
			return gpu.NUMAUnknown, fmt.Errorf("row %s has more links than there are columns: a column is missing", row)
		}
	}
	at := slices.Index(b.headings, nodeAffinity)
	switch {
	case b.unread != "" || (at < 0 && b.headings != nil):
		return gpu.NUMAUnknown, nil
	case b.headings == nil && len(cells) > 0:
		return gpu.NUMAUnknown, fmt.Errorf("row %s has %d cells more than there are columns", row, len(cells))
	case b.headings == nil || (len(cells) >= len(b.headings) && isNoValue(cells[at])):
		return gpu.NUMAUnknown, nil
	case len(cells) >= len(b.headings):
		if numa, err := parseNumber(cells[at]); err == nil {
			return numa, nil
		}
	}
	b.warn("NUMA node of %s is not known: no number below %q in %q", row, nodeAffinity, cells)
	return gpu.NUMAUnknown, nil
}

// NodeFromMatrix makes a Node of the output of `mx-smi topo -m` alone: GPUs without
// addresses, their NUMA nodes from the affinities, and a link for every pair. The
// warnings of ParseMatrix are in the Node.
func NodeFromMatrix(text string) (gpu.Node, error) {
	m, err := ParseMatrix(text)
	if err != nil {
		return gpu.Node{}, err
	}
	node := gpu.NewNode("")
	node.Warnings = m.Warnings
	renumbered := false
	for i, numa := range m.NUMA {
		node.GPUs = append(node.GPUs, gpu.GPU{Index: i, NUMA: numa, CPUs: m.CPUs[i], Healthy: true})
		for j := i + 1; j < len(m.GPUs); j++ {
			node.Links = append(node.Links, gpu.Link{A: i, B: j, Kind: m.Kinds[i][j].String()})
		}
		renumbered = renumbered || m.GPUs[i] != i
	}
	if renumbered {
		node.Warnings = append(node.Warnings, "the matrix lacks some GPU numbers: GPUs are renumbered from 0")
	}
	graph, _ := topology.New(node)
	graph.MarkDomains(node.GPUs)
	return node, nil
}
