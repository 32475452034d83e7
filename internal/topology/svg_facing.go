package topology

// Measures of a picture of facing rows.
const (
	maxRow    = 8  // GPUs in a row
	boxPad    = 14 // from a NUMA node's edge to what is inside
	boxLabel  = 30 // from the outer edge to the first bar
	barHeight = 22
	wireLen   = 14 // from a bar to what hangs from it
	apart     = 12 // further space between neighbours that are no GPUs
)

// face deals a node's GPUs to one or two decks; ok is false where they do not
// fit. NUMA nodes are parted only where there is no other way, then host
// bridges, then switches; with that settled the rows are as even as can be.
func face(root *place) (decks []deck, ok bool) {
	boxed := len(root.inside) != 1 // a single NUMA node is one box around all
	if !boxed {
		root = root.inside[0]
	}
	n := len(root.leaves())
	if n <= maxRow/2 {
		return []deck{{root: root, boxed: boxed}}, true
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
	return []deck{
		{root: root.slice(0, best), boxed: boxed},
		{root: root.slice(best, n), boxed: boxed, flip: true},
	}, true
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

// drawFacing draws the decks and the links in the field between them. It
// returns the picture's width and where its boxes and links end.
func (s *scene) drawFacing(c *canvas, root *place, decks []deck) (width, bottom int) {
	boxed := decks[0].boxed
	for i := range decks {
		decks[i].arrange(s.cardHeight())
		width = max(width, decks[i].width)
	}
	width += 2 * margin
	if !boxed {
		width += 2 * boxPad
	}
	width = max(width, minWidth)

	f := newField(s, decks)
	bottom = s.header() + f.height
	for _, d := range decks {
		bottom += d.height
	}
	switch {
	case !boxed:
		bottom += boxPad
		c.box(card{margin, s.header(), width - 2*margin, bottom - s.header()}, 14, s.header()+19, root.inside[0].label)
	case len(decks) == 1 && f.height > 0:
		bottom -= boxPad // the arcs begin above the boxes' edge
	}
	y := s.header()
	for _, d := range decks {
		o := outline{scene: s, deck: d, c: c, outer: y, dx: (width - d.width) / 2}
		if d.flip {
			o.outer += d.height
		}
		for _, it := range d.items {
			if it.gpu == noGPU {
				o.group(it)
				continue
			}
			f.cards[it.gpu] = o.hang(it)
		}
		y += d.height + f.height // the field lies between the decks
	}
	f.draw(c, width)
	for i := range s.gpus {
		s.fullCard(c, i, f.cards[i])
	}
	return width, bottom
}
