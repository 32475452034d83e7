package topology

import (
	"fmt"
	"strings"
)

// Measures of a picture of facing rows.
const (
	maxRow    = 8  // GPUs in a row
	boxPad    = 14 // from a NUMA node's edge to what is inside
	boxLabel  = 30 // from the outer edge to the first bar
	barHeight = 22
	wireLen   = 14 // from a bar to what hangs from it
	apart     = 12 // further space between neighbours that are no GPUs
)

// deck is a row of GPUs with the PCIe tree they hang from. The trees stand on
// the outside, so that the cards of two decks face each other.
type deck struct {
	root *place // its children are NUMA nodes, or what is inside the only one
	flip bool   // the tree below the cards
}

// face deals a node's GPUs to one or two decks; ok is false where they do not
// fit. NUMA nodes are parted only where there is no other way, then host
// bridges, then switches; with that settled the rows are as even as can be.
func face(root *place) (decks []deck, ok bool) {
	n := len(root.leaves())
	if n <= maxRow/2 {
		return []deck{{root: root}}, true
	}
	best, bestCost := 0, 0
	for at := max(1, n-maxRow); at <= min(maxRow, n-1); at++ {
		cost := root.depthAt(at)*2*n + max(2*at-n, n-2*at)
		if best == 0 || cost < bestCost {
			best, bestCost = at, cost
		}
	}
	if best == 0 {
		return nil, false
	}
	return []deck{{root: root.cut(0, best)}, {root: root.cut(best, n), flip: true}}, true
}

// depthAt is how far down the tree one must go to come between the leaves at-1
// and at.
func (p *place) depthAt(at int) int {
	for _, q := range p.inside {
		n := len(q.leaves())
		if at == 0 {
			return 0
		}
		if at < n {
			return 1 + q.depthAt(at)
		}
		at -= n
	}
	return 0
}

// item is a place with its horizontal extent, relative to the deck.
type item struct {
	*place
	level  int // 0 for the deck's outermost
	x0, x1 int
}

// arrange lays out what is inside p from x on, parents before children, and
// returns the x where it ends.
func arrange(p *place, level, x int, pad bool, items *[]item) int {
	for i, q := range p.inside {
		if i > 0 {
			x += cardGap
			if q.gpu == noGPU || p.inside[i-1].gpu == noGPU {
				x += apart
			}
		}
		if q.gpu != noGPU {
			*items = append(*items, item{q, level, x, x + cardWidth})
			x += cardWidth
			continue
		}
		at := len(*items)
		*items = append(*items, item{place: q, level: level})
		inner := 0
		if pad {
			inner = boxPad
		}
		end := arrange(q, level+1, x+inner, false, items) + inner
		(*items)[at].x0, (*items)[at].x1 = x, end
		x = end
	}
	return x
}

// drawFacing draws the decks and the links in the field between them. It
// returns the picture's width and where the field or the lower deck ends.
func (s *scene) drawFacing(c *canvas, decks []deck) (width, bottom int) {
	// A single NUMA node is one box around all.
	only := ""
	if labels := numaLabels(decks); len(labels) == 1 {
		only = labels[0]
		for i := range decks {
			decks[i].root = decks[i].root.inside[0]
		}
	}
	rows := make([][]item, len(decks))
	widths := make([]int, len(decks))
	for i, d := range decks {
		widths[i] = arrange(d.root, 0, 0, only == "", &rows[i])
		width = max(width, widths[i])
	}
	inner := margin
	if only != "" {
		inner += boxPad
	}
	width = max(width+2*inner, minWidth)

	f := field{scene: s, cards: make([]card, len(s.gpus)), row: make([]int, len(s.gpus)), column: make([]int, len(s.gpus))}
	heights := make([]int, len(decks))
	for i, items := range rows {
		heights[i] = decks[i].height(items, only == "")
		column := 0
		for _, it := range items {
			if it.gpu != noGPU {
				f.row[it.gpu], f.column[it.gpu] = i, column
				column++
			}
		}
	}
	f.plan(len(decks))
	y := header
	var boxes canvas
	for i, d := range decks {
		o := outline{scene: s, c: &boxes, flip: d.flip, outer: y, boxed: only == "", height: heights[i], dx: (width - widths[i]) / 2}
		if d.flip {
			o.outer = y + heights[i]
		}
		for _, it := range rows[i] {
			if it.gpu == noGPU {
				o.group(it)
				continue
			}
			f.cards[it.gpu] = o.hang(it)
		}
		y += heights[i]
		if i == 0 {
			y += f.height
		}
	}
	bottom = y
	if only != "" {
		bottom += boxPad
		c.rect(margin, header, width-2*margin, bottom-header, 14, fmt.Sprintf(`fill="%s" stroke="%s"`, boxFill, boxEdge))
		c.text(margin+boxPad, header+19, fmt.Sprintf(`font-weight="600" fill="%s"`, soft), only)
	}
	c.Write(boxes.Bytes())
	f.draw(c, width)
	for i := range s.gpus {
		s.fullCard(c, i, f.cards[i])
	}
	return width, bottom
}

func numaLabels(decks []deck) (labels []string) {
	for _, d := range decks {
		for _, p := range d.root.inside {
			if len(labels) == 0 || labels[len(labels)-1] != p.label {
				labels = append(labels, p.label)
			}
		}
	}
	return labels
}

// height is how much room the items take, the NUMA nodes' boxes included. The
// lower deck needs no label where one box holds both.
func (d deck) height(items []item, boxed bool) int {
	bars := 0
	for _, it := range items {
		if it.gpu == noGPU {
			bars = max(bars, it.level+1)
		}
	}
	h := cardHeight + bars*(barHeight+wireLen)
	if boxed {
		h += boxPad - barHeight - wireLen // the outermost level is the box itself
	}
	if boxed || !d.flip {
		h += boxLabel
	}
	return h
}

// outline draws the boxes, bars and wires of a deck. Heights are counted from
// the outer edge, whichever way that is.
type outline struct {
	*scene
	c      *canvas
	flip   bool
	boxed  bool // the outermost level is NUMA nodes
	outer  int  // y of the outer edge
	height int
	dx     int
}

// y turns a distance from the outer edge of something h high into its upper y.
func (o outline) y(from, h int) int {
	if o.flip {
		return o.outer - from - h
	}
	return o.outer + from
}

func (o outline) cardFrom() int {
	if o.boxed {
		return o.height - cardHeight - boxPad
	}
	return o.height - cardHeight
}

func (o outline) barFrom(level int) int {
	if o.boxed {
		level--
	}
	from := level * (barHeight + wireLen)
	if o.boxed || !o.flip {
		from += boxLabel
	}
	return from
}

func (o outline) group(it item) {
	x0, w := it.x0+o.dx, it.x1-it.x0
	if o.boxed && it.level == 0 {
		o.c.rect(x0, o.y(0, o.height), w, o.height, 14, fmt.Sprintf(`fill="%s" stroke="%s"`, boxFill, boxEdge))
		o.c.text(x0+boxPad, o.y(8, 13)+11, fmt.Sprintf(`font-weight="600" fill="%s"`, soft), fit(it.label, w/8))
		return
	}
	from := o.barFrom(it.level)
	o.wire(it)
	o.c.rect(x0, o.y(from, barHeight), w, barHeight, 6, fmt.Sprintf(`fill="%s" stroke="%s"`, barFill, barEdge))
	label := it.label
	if textWidth(label, 11) > w-8 {
		label = strings.TrimPrefix(strings.TrimPrefix(label, "PCIe "), "host ")
	}
	o.c.text(x0+w/2, o.y(from, barHeight)+15, `text-anchor="middle" font-size="11"`, fit(label, w/6))
}

func (o outline) hang(it item) card {
	o.wire(it)
	return card{it.x0 + o.dx, o.y(o.cardFrom(), cardHeight), it.x1 - it.x0, cardHeight}
}

// wire joins an item to the bar that it hangs from.
func (o outline) wire(it item) {
	above := it.level - 1
	if above < 0 || o.boxed && above == 0 {
		return
	}
	from, to := o.barFrom(above)+barHeight, o.barFrom(it.level)
	if it.gpu != noGPU {
		to = o.cardFrom()
	}
	x := it.x0 + o.dx + (it.x1-it.x0)/2
	o.c.line(x, o.y(from, 0), x, o.y(to, 0), fmt.Sprintf(`stroke="%s" stroke-width="3"`, wire))
}
