package topology

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Tree writes the node as a tree with one line per GPU: NUMA nodes, host
// bridges, PCIe switches, GPUs; then the MetaXLink domains. A level that the
// Node does not know is left out, a fact missing for one GPU only is "?".
func Tree(w io.Writer, v View) error {
	s, err := v.scene()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s, %s\n", title(v.Node), count(s.gpus), software(v.Node))
	cols := columns(s)
	if len(cols.unknown) > 0 && len(s.gpus) > 0 {
		fmt.Fprintf(&b, "not known: %s\n", strings.Join(cols.unknown, ", "))
	}
	var lines []branch
	root := places(s.gpus)
	root.branches("", &lines)
	label := 0
	for _, l := range lines {
		if l.gpu != noGPU {
			label = max(label, cells(l.text))
		}
	}
	for _, l := range lines {
		if l.gpu != noGPU {
			l.text = strings.TrimRight(pad(l.text, label)+cols.row(l.gpu), " ")
		}
		b.WriteString(l.text + "\n")
	}
	s.linkLines(&b)
	return write(w, "tree", b.Bytes())
}

// branch is a line of the tree, up to the GPU's label.
type branch struct {
	text string
	gpu  int
}

func (p *place) branches(stem string, lines *[]branch) {
	for i, q := range p.inside {
		fork, below := "├─ ", "│  "
		if i == len(p.inside)-1 {
			fork, below = "└─ ", "   "
		}
		if q.gpu != noGPU {
			*lines = append(*lines, branch{fmt.Sprintf("%s%sGPU %d", stem, fork, q.gpu), q.gpu})
			continue
		}
		*lines = append(*lines, branch{stem + fork + q.label, noGPU})
		q.branches(stem+below, lines)
	}
}

// table holds what a tree says of each GPU beside its label.
type table struct {
	cells   [][]string // by column, by GPU; columns that are empty throughout left out
	widths  []int
	unknown []string // what is known of no GPU
}

func columns(s *scene) table {
	var t table
	add := func(what, missing string, cell func(i int) string) {
		column, width := make([]string, len(s.gpus)), 0
		for i := range s.gpus {
			column[i] = cell(i)
			width = max(width, cells(column[i]))
		}
		if width == 0 {
			if what != "" {
				t.unknown = append(t.unknown, what)
			}
			return
		}
		for i := range column {
			if column[i] == "" {
				column[i] = missing
				width = max(width, cells(missing))
			}
		}
		t.cells, t.widths = append(t.cells, column), append(t.widths, width)
	}
	add("models", "?", func(i int) string { return clean(s.gpus[i].Model) })
	add("PCI addresses", "?", func(i int) string { return address(s.gpus[i].BDF) })
	add("memory", "?", func(i int) string { return memory(s.gpus[i].MemoryMiB) })
	add("UUIDs", "?", func(i int) string { return short(s.gpus[i].UUID) })
	add("device nodes", "no device nodes", func(i int) string { return deviceNodes(s.gpus[i]) })
	add("", "no MetaXLink", func(i int) string {
		if s.domainOf[i] == 0 {
			return ""
		}
		return fmt.Sprintf("MX %d", s.domainOf[i])
	})
	add("", "", func(i int) string { return strings.Join(s.status(i), ", ") })
	return t
}

func (t table) row(i int) string {
	var b strings.Builder
	for c, column := range t.cells {
		b.WriteString("  " + pad(column[i], t.widths[c]))
	}
	return b.String()
}

// linkLines says how MetaXLink joins the GPUs.
func (s *scene) linkLines(b *bytes.Buffer) {
	if len(s.gpus) < 2 {
		return
	}
	if len(s.domains) == 0 {
		b.WriteString("no MetaXLink\n")
	}
	for i, d := range s.domains {
		fmt.Fprintf(b, "MX %d: GPU %s, %s\n", i+1, ranges(d.gpus), d.describe())
	}
	for _, l := range s.down {
		fmt.Fprintf(b, "MetaXLink %d-%d is down\n", l[0], l[1])
	}
}
