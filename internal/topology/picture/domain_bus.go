// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"slices"
)

// minBus is the least number of GPUs of a domain that a bus joins instead of an arc for each
// pair.
const minBus = 8

// busLane is the distance between buses.
const busLane = 30

// domainBus is the line between the rows of cards that joins a domain.
type domainBus struct {
	number int // of the domain, from 1
	row    int // of all its GPUs, or 2 if they are in both
	lane   int // of the buses with the same row, from 0
}

// onBus reports whether a bus joins the domain of a GPU.
func (s *checkedView) onBus(i int) bool {
	d := s.domainOf[i]
	return d > 0 && len(s.domains[d-1].gpus) >= minBus
}

// findBuses finds the buses, and returns the height they need.
func (f *linkArea) findBuses() (height int) {
	var lanes [3]int
	for i, d := range f.domains {
		if !f.onBus(d.gpus[0]) {
			continue
		}
		row := f.row[d.gpus[0]]
		if slices.ContainsFunc(d.gpus, func(g int) bool { return f.row[g] != row }) {
			row = 2
		}
		f.buses = append(f.buses, domainBus{i + 1, row, lanes[row]})
		lanes[row]++
		height += busLane
	}
	return height
}

// drawBuses draws the buses between the upper and the lower edge, with a line to each GPU.
func (f *linkArea) drawBuses(c *canvas, top, bottom int) {
	anyPicked := slices.Contains(f.picked, true)
	across := 0
	for _, b := range f.buses {
		if b.row == 2 {
			across++
		}
	}
	for _, b := range f.buses {
		var y int
		switch b.row {
		case 0:
			y = top + f.depth[0] + 24 + b.lane*busLane
		case 1:
			y = bottom - f.depth[1] - 24 - b.lane*busLane
		default:
			y = (top+bottom)/2 + (2*b.lane-across+1)*busLane/2
		}
		color := domainColor(b.number)
		c.openTitled(fmt.Sprintf(`fill="none" stroke="%s" stroke-width="4" stroke-linecap="round"`, color),
			f.domainWords(b.number-1))
		gpus := f.domains[b.number-1].gpus
		middle := func(i int) int { return f.cards[i].x + f.cards[i].w/2 }
		x0, x1 := middle(gpus[0]), middle(gpus[0])
		for _, i := range gpus {
			style := ""
			if anyPicked && !f.picked[i] {
				style = `stroke-width="2"`
			}
			c.Line(middle(i), f.cardEdge(i), middle(i), y, style)
			c.Dot(middle(i), y, 4, fmt.Sprintf(`fill="%s"`, color))
			x0, x1 = min(x0, middle(i)), max(x1, middle(i))
		}
		c.Line(x0, y, x1, y, "")
		c.Close()
		pillLarge.draw(c, (x0+x1)/2, y, fmt.Sprintf(`fill="%s" stroke="%s"`, cardFill, color), color,
			fmt.Sprintf("MetaXLink domain %d", b.number))
	}
}
