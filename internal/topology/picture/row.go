// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// cardRow is a row of GPUs with the PCIe tree above them. The trees are on the outside, so
// the cards of two rows face each other.
type cardRow struct {
	root  *place // its parts are drawn side by side
	boxed bool   // they are NUMA nodes, each drawn as a box
	flip  bool   // the tree is below the cards
	cards int    // width of a card

	items         []item
	width, height int // the NUMA nodes' boxes included
}

// item is a place with its horizontal extent, relative to the row.
type item struct {
	*place
	above  *place
	level  int // 0 for the outermost
	x0, x1 int
}

// arrangeItems computes the items and the measures of the row.
func (d *cardRow) arrangeItems(height int) {
	d.width = d.layOut(d.root, 0, 0)
	bars := 0
	for _, it := range d.items {
		if it.gpu == noGPU {
			bars = max(bars, it.level+1)
		}
	}
	d.height = d.barFrom(bars) + height
	if d.boxed {
		d.height += boxPad
	}
}

// layOut adds the items inside p from x on, parents before children, and returns the x where
// they end.
func (d *cardRow) layOut(p *place, level, x int) int {
	inner := 0
	if d.boxed && level == 0 {
		inner = boxPad
	}
	for i, q := range p.inside {
		if i > 0 {
			x += cardGap
			if q.gpu == noGPU || p.inside[i-1].gpu == noGPU {
				x += apart
			}
		}
		at := len(d.items)
		d.items = append(d.items, item{place: q, above: p, level: level, x0: x})
		if q.gpu == noGPU {
			x = d.layOut(q, level+1, x+inner) + inner
		} else {
			x += d.cards
		}
		d.items[at].x1 = x
	}
	return x
}

// barFrom returns how far from the outer edge the bars of a level begin. The outermost level
// of a boxed row is the boxes and has no bar; a lower row needs no label if one box has both
// rows.
func (d *cardRow) barFrom(level int) int {
	from := level * (barHeight + wireLen)
	if d.boxed {
		from -= barHeight + wireLen
	}
	if d.boxed || !d.flip {
		from += boxLabel
	}
	return from
}

// cardFrom returns how far from the outer edge the cards begin.
func (d *cardRow) cardFrom(cards int) int {
	if d.boxed {
		return d.height - cards - boxPad
	}
	return d.height - cards
}

// outline draws the boxes, bars and wires of a row. Distances are from the outer edge, which
// is above the cards or below them.
type outline struct {
	*checkedView
	cardRow
	c     *canvas
	outer int // y of the outer edge
	dx    int
}

// y returns the upper y of an element of height h at a distance from the outer edge.
func (o outline) y(from, h int) int {
	if o.flip {
		return o.outer - from - h
	}
	return o.outer + from
}

// drawPlace draws a place that is not a GPU.
func (o outline) drawPlace(it item) {
	x0, w := it.x0+o.dx, it.x1-it.x0
	if o.boxed && it.level == 0 {
		o.c.drawBox(card{x: x0, y: o.y(0, o.height), w: w, h: o.height}, 14, o.y(8, 13)+11, shortenTo(it.label, w/8))
		return
	}
	from := o.barFrom(it.level)
	o.wire(it)
	o.c.drawBar(card{x: x0, y: o.y(from, barHeight), w: w, h: barHeight}, 6)
	label := it.label
	room := w - 8
	if nics := o.nicsAt()[it.label]; nics != nil {
		pill := "NIC " + wording.Ranges(nics)
		if wide := pillSmall.widthFor(pill); textWidth(label, 11) < w-2*wide-24 {
			pillSmall.draw(o.c, x0+w-wide/2-4, o.y(from, barHeight)+barHeight/2, fmt.Sprintf(`fill="%s"`, wire), cardFill, pill)
			room -= 2 * wide
		}
	}
	if k, ok := o.kindInside(it.place); ok {
		label += " (" + k.String() + ")"
		o.named[k] = true
	}
	if textWidth(label, 11) > room {
		label = strings.TrimPrefix(strings.TrimPrefix(label, "PCIe "), "host ")
	}
	o.c.Text(x0+w/2, o.y(from, barHeight)+15, `text-anchor="middle" font-size="11"`, shortenTo(label, w/6))
}

// kindInside returns the kind of link between the parts of p; ok is false if pairs differ or
// if it is MetaXLink, which is drawn.
func (o outline) kindInside(p *place) (kind topology.Kind, ok bool) {
	for i, q := range p.inside {
		for _, a := range q.gpusBelow() {
			for _, other := range p.inside[i+1:] {
				for _, b := range other.gpusBelow() {
					k := o.graph.Kind(a, b)
					if k == topology.MX || (ok && k != kind) {
						return k, false
					}
					kind, ok = k, true
				}
			}
		}
	}
	return kind, ok
}

// gpuCard draws the wire of a GPU and returns its card.
func (o outline) gpuCard(it item) card {
	o.wire(it)
	h := o.cardHeight(o.cards)
	return card{x: it.x0 + o.dx, y: o.y(o.cardFrom(h), h), w: it.x1 - it.x0, h: h}
}

// wire joins an item to the bar of its parent, by the line of the kind of link that the parent
// makes.
func (o outline) wire(it item) {
	above := it.level - 1
	if above < 0 || (o.boxed && above == 0) {
		return
	}
	from, to := o.barFrom(above)+barHeight, o.barFrom(it.level)
	if it.gpu != noGPU {
		to = o.cardFrom(o.cardHeight(o.cards))
	}
	x := it.x0 + o.dx + (it.x1-it.x0)/2
	k, ok := o.kindInside(it.above)
	if !ok {
		k = topology.PIX
	}
	o.c.Line(x, o.y(from, 0), x, o.y(to, 0), kindLine(k))
}
