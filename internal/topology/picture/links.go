// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/svg"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// linkArea is the space between the rows of cards, in which MetaXLink is drawn.
type linkArea struct {
	*checkedView
	cards       []card
	row, column []int // by GPU
	height      int   // between the rows; the cards are a little further apart
	links       []drawnLink
	depth       [2]int // how far the arcs of each row reach
	buses       []domainBus
}

// drawnLink is a MetaXLink between two cards, up or lost.
type drawnLink struct {
	a, b   int
	up     bool
	xa, xb int // where it meets the cards
}

// newLinkArea finds the links and the height they need.
func newLinkArea(s *checkedView, rows []cardRow) *linkArea {
	n := len(s.gpus)
	f := &linkArea{checkedView: s, cards: make([]card, n), row: make([]int, n), column: make([]int, n)}
	for row, d := range rows {
		for column, gpu := range d.root.gpusBelow() {
			f.row[gpu], f.column[gpu] = row, column
		}
	}
	across := false
	for a := range n {
		for b := a + 1; b < n; b++ {
			up, pair := s.graph.Kind(a, b) == topology.MX, [2]int{a, b}
			if (up && f.onBus(a)) || (!up && !slices.Contains(s.down, pair) && !slices.Contains(s.missing, pair)) {
				continue
			}
			f.links = append(f.links, drawnLink{a: a, b: b, up: up})
			if f.row[a] != f.row[b] {
				across = true
				continue
			}
			f.depth[f.row[a]] = max(f.depth[f.row[a]], f.arc(a, b))
		}
	}
	const label, badge = 34, 44
	lanes := f.findBuses()
	switch {
	case across:
		f.height = max(180, f.depth[0]+f.depth[1]+40+lanes)
	case len(rows) == 2:
		f.height = badge
		for _, d := range f.depth {
			if d > 0 {
				f.height += d + label
			}
		}
		f.height += lanes
	default:
		if f.depth[0] > 0 {
			f.height = f.depth[0] + label
		}
		if lanes > 0 {
			f.height = f.depth[0] + lanes + 10
		}
	}
	return f
}

// arc returns how far the link between two cards of one row extends from it.
func (f *linkArea) arc(a, b int) int {
	return 12 + 20*max(f.column[a]-f.column[b], f.column[b]-f.column[a])
}

// drawLinks draws the links, the names of the domains, and the kind of link between the rows.
func (f *linkArea) drawLinks(c *canvas, width int) {
	f.spreadEnds()
	top, bottom := f.span()
	f.drawBuses(c, top, bottom)
	// The most important links come last, on top.
	slices.SortStableFunc(f.links, func(x, y drawnLink) int { return f.weight(x) - f.weight(y) })
	c.Open(`fill="none" stroke-linecap="round"`)
	for _, l := range f.links {
		color, kind := unhealthyEdge, "MetaXLink, down"
		if slices.Contains(f.missing, [2]int{l.a, l.b}) {
			kind = "no MetaXLink, unlike the other pairs of the domain"
		}
		if l.up {
			color, kind = domainColor(f.domainOf[l.a]), "MetaXLink"
			if gbps := f.graph.Bandwidth(l.a, l.b); gbps > 0 {
				kind = fmt.Sprintf("MetaXLink, %g GB/s", gbps)
			}
		}
		c.openTitled(fmt.Sprintf(`stroke="%s" %s`, color, f.stroke(l)), fmt.Sprintf("GPU %d to GPU %d: %s", l.a, l.b, kind))
		x, y := f.curve(c, l)
		c.Close()
		if !l.up {
			c.drawSign(x, y, 100, signDown)
		}
	}
	c.Close()
	f.names(c, top, bottom)
	f.badge(c, (top+bottom)/2, width)
}

// weight returns how important a link is in the picture: 2 if it joins two picked GPUs, 1 if
// it is lost.
func (f *linkArea) weight(l drawnLink) int {
	switch {
	case !l.up:
		return 1
	case f.picked[l.a] && f.picked[l.b]:
		return 2
	}
	return 0
}

// stroke returns the attributes of a link's line. Links are paler if others are picked, or
// if the picture has many.
func (f *linkArea) stroke(l drawnLink) string {
	const many = 40
	opacity := "0.75"
	picked := slices.Contains(f.picked, true)
	switch {
	case f.weight(l) == 1:
		return `stroke-width="2" stroke-dasharray="5 5"`
	case f.weight(l) == 2:
		return `stroke-width="4"`
	case picked && len(f.links) > many:
		opacity = "0.2"
	case picked:
		opacity = "0.35"
	case len(f.links) > many:
		opacity = "0.5"
	}
	return fmt.Sprintf(`stroke-width="2" stroke-opacity="%s"`, opacity)
}

// curve draws a link as a cubic Bézier and returns its middle.
func (f *linkArea) curve(c *canvas, l drawnLink) (x, y int) {
	ya, yb := f.cardEdge(l.a), f.cardEdge(l.b)
	ca, cb := ya, yb
	if f.row[l.a] == f.row[l.b] {
		reach := f.arc(l.a, l.b) * 4 / 3
		if f.row[l.a] == 1 {
			reach = -reach
		}
		ca, cb = ya+reach, yb+reach
	} else {
		ca, cb = ya+(yb-ya)*55/100, yb-(yb-ya)*55/100
	}
	c.Path("", "M%d %dC%d %d %d %d %d %d", l.xa, ya, l.xa, ca, l.xb, cb, l.xb, yb)
	return (l.xa + l.xb) / 2, (ya + 3*ca + 3*cb + yb) / 8
}

// cardEdge returns the y of the card's edge at the links.
func (f *linkArea) cardEdge(i int) int {
	if f.row[i] == 1 {
		return f.cards[i].y
	}
	return f.cards[i].y + f.cards[i].h
}

// spreadEnds distributes the ends of a card's links along its edge so that they do not cross
// at the card: to the near left, the far left, the other row from left to right, the far
// right, the near right.
func (f *linkArea) spreadEnds() {
	for i := range f.gpus {
		type end struct {
			x    *int
			rank [2]int
		}
		var ends []end
		for n := range f.links {
			l := &f.links[n]
			x, other := &l.xa, l.b
			switch i {
			case l.a: // this end
			case l.b:
				x, other = &l.xb, l.a
			default:
				continue
			}
			away := f.column[other] - f.column[i]
			switch {
			case f.row[other] != f.row[i]:
				ends = append(ends, end{x, [2]int{1, f.cards[other].x}})
			case away < 0:
				ends = append(ends, end{x, [2]int{0, -away}})
			default:
				ends = append(ends, end{x, [2]int{2, -away}})
			}
		}
		slices.SortFunc(ends, func(p, q end) int {
			return cmp.Or(p.rank[0]-q.rank[0], p.rank[1]-q.rank[1])
		})
		k := f.cards[i]
		step := min(16, (k.w-24)/max(1, len(ends)-1))
		for n, e := range ends {
			*e.x = k.x + k.w/2 + (2*n-len(ends)+1)*step/2
			if f.onBus(i) {
				*e.x += 24 // beside the bus
			}
		}
	}
}

// span returns the y of the upper and the lower edge, which are those of the cards.
func (f *linkArea) span() (top, bottom int) {
	for i := range f.gpus {
		if f.row[i] == 0 {
			top = f.cardEdge(i)
		} else {
			bottom = f.cardEdge(i)
		}
	}
	return top, max(bottom, top+f.height)
}

// names writes the names of the domains.
func (f *linkArea) names(c *canvas, top, bottom int) {
	var taken []card
	for i, d := range f.domains {
		if f.onBus(d.gpus[0]) {
			continue // its name is on the bus
		}
		sum, rows := 0, [2]int{}
		for _, g := range d.gpus {
			sum += f.cards[g].x + f.cards[g].w/2
			rows[f.row[g]]++
		}
		x, y := sum/len(d.gpus), (top+bottom)/2
		switch {
		case rows[1] == 0:
			y = top + f.depth[0] + 18
		case rows[0] == 0:
			y = bottom - f.depth[1] - 18
		}
		text := fmt.Sprintf("MetaXLink domain %d", i+1)
		w := pillLarge.widthFor(text)
		for slices.ContainsFunc(taken, func(t card) bool {
			return t.y == y && max(t.x, x)-min(t.x, x) < (t.w+w)/2
		}) {
			y += 22
		}
		pillLarge.draw(c, x, y, fmt.Sprintf(`fill="%s" stroke="%s"`, cardFill, domainColor(i+1)), domainColor(i+1), text)
		taken = append(taken, card{x: x, y: y, w: w})
	}
}

// badge writes the kind of link between the rows if it is not MetaXLink.
func (f *linkArea) badge(c *canvas, y, width int) {
	k, ok := f.between()
	if !ok {
		return
	}
	y += (f.depth[0] - f.depth[1]) / 2
	f.badged = true
	c.Line(2*margin, y, width-2*margin, y, kindLine(k))
	pillLarge.draw(c, width/2, y, fmt.Sprintf(`fill="%s" stroke="%s"`, svg.Background, wire), svg.MutedText,
		shortenTo(k.String()+": "+k.Meaning(), width/9))
}

// between returns the kind of link between the rows; ok is false if pairs differ or if it is
// MetaXLink.
func (f *linkArea) between() (k topology.Kind, ok bool) {
	for a := range f.gpus {
		for b := range f.gpus {
			if f.row[a] != 0 || f.row[b] != 1 {
				continue
			}
			if ok && f.graph.Kind(a, b) != k {
				return k, false
			}
			k, ok = f.graph.Kind(a, b), true
		}
	}
	return k, ok && k != topology.MX
}
