// SPDX-License-Identifier: Apache-2.0

package picture

import "github.com/metax-ctk/container-toolkit/internal/wording"

// grid is a picture of many GPUs: tiles in lines from left to right, grouped as in the tree,
// with space below each line for the buses.
type grid struct {
	*checkedView
	tileSize
	tiles []card // by GPU
	line  []int  // by GPU
	lines int
	runs  []run
	boxes []numaBox
	buses []bus
	lanes []int // by line: how many buses are one below the other
	right int   // x where the longest line ends
}

// tileSize is the size of tiles, and how many are in a line.
type tileSize struct {
	perLine, width, height, gap int
	large                       bool // with the address, below labelled switches
}

// maxLarge is the greatest number of GPUs with large tiles.
const maxLarge = 128

// The grid's measures.
const (
	gridLabel = 24 // a NUMA node's label
	runPad    = 5  // from a run's edge to its tiles
	runLabel  = 18
	laneStep  = 18 // between buses
)

// run is neighbouring GPUs on one line that have the same parent place.
type run struct {
	label        string // empty on all lines but the first, and without a switch
	line, x0, x1 int
}

// numaBox is the frame of a NUMA node: a part of one line, or several whole lines.
type numaBox struct {
	label               string
	first, last, x0, x1 int
}

// drawGrid draws the grid. It returns the picture's width and the y where the grid ends.
func (s *checkedView) drawGrid(c *canvas, root *place) (width, bottom int) {
	g := &grid{checkedView: s, tiles: make([]card, len(s.gpus)), line: make([]int, len(s.gpus))}
	g.tileSize = tileSize{perLine: 8, width: 116, height: 46, gap: 8, large: true}
	if len(s.gpus) > maxLarge {
		g.tileSize = tileSize{perLine: 32, width: 34, height: 24, gap: 5}
	}
	g.flow(root)
	left := margin + g.routeBuses()
	top, ends := g.stack(s.headerHeight())
	for i := range g.tiles {
		g.tiles[i].x += left
		g.tiles[i].y = top[g.line[i]]
	}
	g.frames(c, left, top, ends)
	g.drawBuses(c, left)
	for i, k := range g.tiles {
		g.drawTile(c, i, k, g.large)
	}
	g.busNames(c)
	return max(left+g.right+margin, minWidth), ends[g.lines-1]
}

// flow gives each tile its line and its x from the left of the grid. A NUMA node or a switch
// that does not fit into the rest of a line starts a new line.
func (g *grid) flow(root *place) {
	x, column, line := 0, 0, 0
	next := func(indent int) { x, column, line = indent, 0, line+1 }
	for _, numa := range root.inside {
		if column > 0 && column+len(numa.gpusBelow()) > g.perLine {
			next(0)
		}
		box := numaBox{label: numa.label, first: line, x0: x}
		x += boxPad
		for i, b := range numa.blocks("") {
			if i > 0 && column+len(b.gpus) > g.perLine {
				next(boxPad)
			}
			for len(b.gpus) > 0 {
				if column == g.perLine {
					next(boxPad)
				}
				fits := min(len(b.gpus), g.perLine-column)
				r := run{label: b.label, line: line, x0: x}
				for _, gpu := range b.gpus[:fits] {
					g.tiles[gpu], g.line[gpu] = card{x: x, w: g.width, h: g.height}, line
					x += g.width + g.gap
				}
				r.x1 = x - g.gap
				box.x1 = max(box.x1, r.x1+boxPad)
				g.runs = append(g.runs, r)
				b.label, b.gpus, column = "", b.gpus[fits:], column+fits
			}
			x += 2 * runPad
		}
		box.last = line
		g.boxes = append(g.boxes, box)
		g.right = max(g.right, box.x1)
		g.lines = line + 1
		x = box.x1 + boxPad
		if box.last > box.first {
			next(0)
		}
	}
}

// block is neighbouring GPUs with the same parent place.
type block struct {
	label string
	gpus  []int
}

// blocks returns the GPUs below p from left to right; those directly below p get the label.
func (p *place) blocks(label string) (all []block) {
	direct := false
	for _, q := range p.inside {
		switch {
		case q.gpu == noGPU:
			all = append(all, q.blocks(q.label)...)
		case direct:
			last := &all[len(all)-1]
			last.gpus = append(last.gpus, q.gpu)
		default:
			all = append(all, block{label, []int{q.gpu}})
		}
		direct = q.gpu != noGPU
	}
	return all
}

// stack returns, by line, the y of its tiles and the y of its end.
func (g *grid) stack(y int) (top, ends []int) {
	starts := make([]bool, g.lines)
	for _, b := range g.boxes {
		starts[b.first] = true
	}
	for line := range g.lines {
		if starts[line] {
			if line > 0 {
				y += boxPad
			}
			y += gridLabel
		}
		if g.large {
			y += runLabel
		}
		y += runPad
		top = append(top, y)
		y += g.height + boxPad + laneStep*g.lanes[line]
		ends = append(ends, y)
	}
	return top, ends
}

// frames draws the NUMA nodes and the bars of the runs.
func (g *grid) frames(c *canvas, left int, top, ends []int) {
	above := runPad + gridLabel
	if g.large {
		above += runLabel
	}
	for _, b := range g.boxes {
		y := top[b.first] - above
		c.drawBox(card{x: left + b.x0, y: y, w: b.x1 - b.x0, h: ends[b.last] - y}, 12, y+17,
			shortenTo(b.label, (b.x1-b.x0-boxPad)/7))
	}
	nicsAt := g.nicsAt()
	for _, r := range g.runs {
		y, h := top[r.line]-runPad, g.height+2*runPad
		if g.large {
			y, h = y-runLabel+4, h+runLabel-4
		}
		w := r.x1 - r.x0
		c.drawBar(card{x: left + r.x0 - runPad, y: y, w: w + 2*runPad, h: h}, 8)
		if g.large {
			label := r.label
			if nics := nicsAt[label]; label != "" && nics != nil {
				label += ", NIC " + wording.Ranges(nics)
			}
			c.Text(left+r.x0+2, y+13, `font-size="10"`, shortenTo(label, w/6))
		}
	}
}
