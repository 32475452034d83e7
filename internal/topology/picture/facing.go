// SPDX-License-Identifier: Apache-2.0

package picture

// Measures of a picture of facing rows.
const (
	maxRow    = 8  // GPUs in a row
	boxPad    = 14 // from a NUMA node's edge to its contents
	boxLabel  = 30 // from the outer edge to the first bar
	barHeight = 22
	wireLen   = 14 // from a bar to its parts
	apart     = 12 // more space between neighbours that are not GPUs
)

// splitRows puts up to maxRow GPUs into one row, and divides more into two, as equal as
// possible; ok is false if they do not fit, or if both rows would have a part of one host
// bridge, or of one NUMA node of several.
func splitRows(root *place) (rows []cardRow, ok bool) {
	boxed := len(root.inside) != 1 // a single NUMA node is one box around all
	if !boxed {
		root = root.inside[0]
	}
	n := len(root.gpusBelow())
	switch {
	case n <= maxRow/2:
		return []cardRow{{root: root, boxed: boxed, cards: cardWidth}}, true
	case n <= maxRow:
		return []cardRow{{root: root, boxed: boxed, cards: narrowCard}}, true
	}
	best, bestCost := 0, 0
	for at := max(1, n-maxRow); at <= min(maxRow, n-1); at++ {
		cost := max(2*at-n, n-2*at)
		if !root.divides(at) && (best == 0 || cost < bestCost) {
			best, bestCost = at, cost
		}
	}
	if best == 0 {
		return nil, false
	}
	return []cardRow{
		{root: root.sliceLeaves(0, best), boxed: boxed, cards: cardWidth},
		{root: root.sliceLeaves(best, n), boxed: boxed, flip: true, cards: cardWidth},
	}, true
}

// divides reports whether the leaves at-1 and at are below the same part of p.
func (p *place) divides(at int) bool {
	for _, q := range p.inside {
		if at <= 0 {
			break
		}
		at -= len(q.gpusBelow())
	}
	return at < 0
}

// drawFacing draws the rows and the links between them. It returns the picture's width and
// the y where its boxes and links end.
func (s *checkedView) drawFacing(c *canvas, root *place, rows []cardRow) (width, bottom int) {
	boxed := rows[0].boxed
	for i := range rows {
		rows[i].arrangeItems(s.cardHeight(rows[i].cards))
		width = max(width, rows[i].width)
	}
	width += 2 * margin
	if !boxed {
		width += 2 * boxPad
	}
	width = max(width, minWidth)

	f := newLinkArea(s, rows)
	bottom = s.headerHeight() + f.height
	for _, d := range rows {
		bottom += d.height
	}
	switch {
	case !boxed:
		bottom += boxPad
		c.drawBox(card{x: margin, y: s.headerHeight(), w: width - 2*margin, h: bottom - s.headerHeight()}, 14,
			s.headerHeight()+19, root.inside[0].label)
	case len(rows) == 1 && f.height > 0:
		bottom -= boxPad // the arcs begin above the boxes' edge
	}
	y := s.headerHeight()
	for _, d := range rows {
		o := outline{checkedView: s, cardRow: d, c: c, outer: y, dx: (width - d.width) / 2}
		if d.flip {
			o.outer += d.height
		}
		for _, it := range d.items {
			if it.gpu == noGPU {
				o.drawPlace(it)
				continue
			}
			f.cards[it.gpu] = o.gpuCard(it)
		}
		y += d.height + f.height // the links are between the rows
	}
	f.drawLinks(c, width)
	for i := range s.gpus {
		s.fullCard(c, i, f.cards[i])
	}
	return width, bottom
}
