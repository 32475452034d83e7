// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Tree writes the node as a tree with one line per GPU: NUMA nodes, host bridges, PCIe
// switches, GPUs and network cards; then the MetaXLink domains. A property (UUID,
// memory, …) that is unknown for all GPUs gets one line above the tree; if only some GPUs
// lack it, their lines mark it.
func Tree(w io.Writer, v View) error {
	s, err := v.checkView()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s, %s\n", nodeTitle(v.Node), gpuCount(s.gpus), softwareVersions(v.Node))
	if missing := s.unknownProperties(); missing != "" {
		b.WriteString(missing + "\n")
	}
	var lines []branch
	buildPlaceTree(s.gpus, s.nics, s.bridgeName).branches("", &lines)
	label := 0
	for _, l := range lines {
		if l.gpu != noGPU {
			label = max(label, textColumns(l.text))
		}
	}
	columns := s.columns()
	for _, l := range lines {
		if l.gpu != noGPU {
			l.text = padTo(l.text, label)
			for _, c := range columns {
				l.text += "  " + padTo(c.cells[l.gpu], c.width)
			}
			l.text = strings.TrimRight(l.text, " ")
		}
		b.WriteString(l.text + "\n")
	}
	s.linkLines(&b)
	s.addNote(&b)
	return writePicture(w, "tree", b.Bytes())
}

// branch is a line of the tree, up to the GPU's label.
type branch struct {
	text string
	gpu  int
}

// branches adds the lines of all that is inside p; stem begins each of them.
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

// column is one property of every GPU, beside its label.
type column struct {
	cells []string // by GPU
	width int
}

// columns returns those in which some GPU has a text.
func (s *checkedView) columns() []column {
	columns := make([]column, len(s.properties)+2)
	for i, g := range s.gpus {
		var row []string
		for _, p := range s.properties {
			row = append(row, p.textFor(g))
		}
		link := ""
		switch {
		case s.domainOf[i] > 0:
			link = fmt.Sprintf("domain %d", s.domainOf[i])
		case len(s.domains) > 0:
			link = "no MetaXLink"
		}
		for c, cell := range append(row, link, s.statusWords(i)) {
			columns[c].cells = append(columns[c].cells, cell)
			columns[c].width = max(columns[c].width, textColumns(cell))
		}
	}
	return slices.DeleteFunc(columns, func(c column) bool { return c.width == 0 })
}

// linkLines writes how MetaXLink joins the GPUs.
func (s *checkedView) linkLines(b *bytes.Buffer) {
	if len(s.gpus) < 2 {
		return
	}
	if len(s.domains) == 0 {
		b.WriteString(s.noDomain() + "\n")
	}
	for i, d := range s.domains {
		fmt.Fprintf(b, "MetaXLink domain %d: GPUs %s (%s)\n", i+1, wording.Ranges(d.gpus), d.describeLinks())
	}
	if len(s.down) > 0 {
		fmt.Fprintf(b, "MetaXLink down: %s\n", wording.Pairs(s.down))
	}
}
