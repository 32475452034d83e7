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

// Matrix is the output of `mx-smi topo -m`, or of `topo -n` without its NICs.
type Matrix struct {
	// GPUs are the tool's numbers (the n of "GPUn"), ascending.
	GPUs []int
	// Kinds[i][j] is the link between GPUs[i] and GPUs[j]. It is symmetric; the
	// diagonal means nothing.
	Kinds [][]topology.Kind
	// NUMA is the column "Node Affinity"; gpu.NUMAUnknown where it is absent or
	// not one number.
	NUMA     []int
	Warnings []string
}

// ParseMatrix reads a matrix of links. Where the two cells of a pair differ the
// worse one holds, and a word that is no kind of link counts as unknown, each
// with a warning. A cell, a row or a column that is missing is an error that
// names it: after that, no cell can be told from its neighbour.
func ParseMatrix(text string) (Matrix, error) {
	m, err := parseMatrix(text)
	if err != nil {
		return Matrix{}, fmt.Errorf("read matrix of links: %w: %w", ErrFormat, err)
	}
	return m, nil
}

func parseMatrix(text string) (Matrix, error) {
	h, rows, attached, err := scan(text)
	if err != nil {
		return Matrix{}, err
	}
	b := &builder{header: h, cells: map[[2]int]topology.Kind{}, numa: map[int]int{}}
	if h.unread != "" {
		b.warn("NUMA nodes are not known: %q is no heading known here", h.unread)
	}
	for _, fields := range rows {
		if err := b.row(fields); err != nil {
			return Matrix{}, err
		}
	}
	if !slices.ContainsFunc(h.columns, device.isGPU) {
		return Matrix{}, errors.New("no column is a GPU's")
	}
	for _, c := range h.columns {
		if _, ok := b.numa[c.n]; c.isGPU() && !ok {
			return Matrix{}, fmt.Errorf("column %s has no row", c)
		}
	}
	if attached != "" && attached != fmt.Sprint(len(b.numa)) {
		b.warn(`%d GPUs are in the matrix, and "Attached GPUs" is %q`, len(b.numa), attached)
	}
	return b.matrix(), nil
}

// scan finds the line of column names and the rows below it. What stands before
// and behind (log header, legend) is none of its business, but for the count of
// GPUs.
func scan(text string) (h header, rows [][]string, attached string, err error) {
	for _, line := range lines(text) {
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
	strange  []strangeWord
	warnings []string
}

func (b *builder) warn(format string, a ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, a...))
}

// row reads "GPU0 X MX … 0 0-31,64-95". Rows of NICs are passed over.
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
	return err
}

// cell takes one cell. The place of the X shows whether cells are where they
// should be.
func (b *builder) cell(row, column device, word string) error {
	if (word == selfCell) != (row == column) {
		return fmt.Errorf("row %s, column %s: %q; an X stands where a GPU meets itself and nowhere else: a cell or a column is missing", row, column, word)
	}
	if row == column || !column.isGPU() {
		return nil
	}
	kind, ok := topology.ParseKind(word)
	if !ok {
		if !isWord(word) {
			return fmt.Errorf("row %s, column %s: %q is not a kind of link: a cell is missing", row, column, word)
		}
		b.stranger(row, column, word)
	}
	b.cells[[2]int{row.n, column.n}] = kind
	return nil
}

// matrix orders what was collected by GPU number and makes it symmetric.
func (b *builder) matrix() Matrix {
	m := Matrix{GPUs: slices.Sorted(maps.Keys(b.numa))}
	for range m.GPUs {
		m.Kinds = append(m.Kinds, make([]topology.Kind, len(m.GPUs)))
	}
	var uneven []string
	for i, row := range m.GPUs {
		m.NUMA = append(m.NUMA, b.numa[row])
		for j, column := range m.GPUs[:i] {
			there, back := b.cells[[2]int{column, row}], b.cells[[2]int{row, column}]
			if there != back {
				uneven = append(uneven, fmt.Sprintf("GPU%d–GPU%d is %s one way and %s the other", column, row, there, back))
			}
			worse := min(there, back)
			m.Kinds[i][j], m.Kinds[j][i] = worse, worse
		}
	}
	b.warnStrangers()
	if len(uneven) > 0 {
		b.warn("the matrix is not symmetric, the worse link of a pair counts: %s", wording.Some(uneven, 8))
	}
	m.Warnings = b.warnings
	return m
}

// strangeWord is a word in a cell that is no kind of link known here.
type strangeWord struct {
	word, first string
	count       int
}

func (b *builder) stranger(row, column device, word string) {
	at := slices.IndexFunc(b.strange, func(s strangeWord) bool { return s.word == word })
	if at < 0 {
		at = len(b.strange)
		b.strange = append(b.strange, strangeWord{word: word, first: fmt.Sprintf("row %s, column %s", row, column)})
	}
	b.strange[at].count++
}

func (b *builder) warnStrangers() {
	for _, s := range b.strange {
		b.warn("%q is not a kind of link known here, ranked as unknown: %s (%d cells)", s.word, s.first, s.count)
	}
}

// affinity reads the cells behind the links: "0 0-31,64-95" below "Node
// Affinity  CPU Affinity".
func (b *builder) affinity(row device, cells []string) (int, error) {
	if len(cells) > 0 {
		if _, link := topology.ParseKind(cells[0]); link && cells[0] != topology.Unknown.String() || cells[0] == selfCell {
			return gpu.NUMAUnknown, fmt.Errorf("row %s has more links than there are columns: a column is missing", row)
		}
	}
	at := slices.Index(b.headings, nodeAffinity)
	switch {
	case b.unread != "" || at < 0 && b.headings != nil:
		return gpu.NUMAUnknown, nil
	case b.headings == nil && len(cells) > 0:
		return gpu.NUMAUnknown, fmt.Errorf("row %s has %d cells more than there are columns", row, len(cells))
	case b.headings == nil || len(cells) >= len(b.headings) && isUnstated(cells[at]):
		return gpu.NUMAUnknown, nil
	case len(cells) >= len(b.headings):
		if numa, err := parseNumber(cells[at]); err == nil {
			return numa, nil
		}
	}
	b.warn("NUMA node of %s is not known: no number below %q in %q", row, nodeAffinity, cells)
	return gpu.NUMAUnknown, nil
}
