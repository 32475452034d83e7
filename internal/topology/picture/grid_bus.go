// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"fmt"
	"slices"
)

// bus is the line that joins the GPUs of a domain that are on one line of the grid.
type bus struct {
	number int // of the domain, from 1
	line   int
	x0, x1 int // the middles of its first and last tile
	lane   int // number of its place below the tiles, from 0
	trunk  int // number of the trunk that joins the domain's buses, 0 nearest to the tiles, or noTrunk
}

const (
	noTrunk   = -1
	maxTrunks = 10 // with more, only the numbers show which buses belong together
	trunkStep = 14
)

// routeBuses makes the buses and gives them lanes. A domain on several lines gets a trunk, in
// a margin on the left. route returns the width of that margin.
func (g *grid) routeBuses() (leftMargin int) {
	var free []int // by trunk: the first line on which it is free
	for i, d := range g.domains {
		first := len(g.buses)
		for _, gpu := range d.gpus {
			g.extendBus(first, i+1, gpu)
		}
		own := g.buses[first:]
		if len(own) == 1 {
			continue
		}
		slices.SortFunc(own, func(a, b bus) int { return a.line - b.line })
		trunk := slices.IndexFunc(free, func(line int) bool { return line <= own[0].line })
		if trunk < 0 {
			trunk, free = len(free), append(free, 0)
		}
		free[trunk] = own[len(own)-1].line + 1
		for j := range own {
			own[j].trunk = trunk
		}
	}
	if len(free) > maxTrunks {
		free = nil
		for j := range g.buses {
			g.buses[j].trunk = noTrunk
		}
	}
	g.assignLanes()
	if len(free) == 0 {
		return 0
	}
	return len(free)*trunkStep + 6
}

// extendBus extends the domain's bus on the GPU's line to the GPU, or adds it.
func (g *grid) extendBus(first, number, gpu int) {
	x := g.tiles[gpu].x + g.width/2
	for j := first; j < len(g.buses); j++ {
		if b := &g.buses[j]; b.line == g.line[gpu] {
			b.x0, b.x1 = min(b.x0, x), max(b.x1, x)
			return
		}
	}
	g.buses = append(g.buses, bus{number: number, line: g.line[gpu], x0: x, x1: x, trunk: noTrunk})
}

// assignLanes puts buses of one line that would touch one below the other. A bus with a
// trunk extends to the left of all tiles.
func (g *grid) assignLanes() {
	g.lanes = make([]int, g.lines)
	start := func(b bus) int {
		if b.trunk != noTrunk {
			return 0
		}
		return b.x0
	}
	order := make([]*bus, len(g.buses))
	for j := range g.buses {
		order[j] = &g.buses[j]
	}
	slices.SortStableFunc(order, func(a, b *bus) int {
		return cmp.Or(a.line-b.line, start(*a)-start(*b), a.number-b.number)
	})
	var ends []int // by lane of the current line
	for j, b := range order {
		if j == 0 || order[j-1].line != b.line {
			ends = nil
		}
		b.lane = slices.IndexFunc(ends, func(x int) bool { return x < start(*b) })
		if b.lane < 0 {
			b.lane, ends = len(ends), append(ends, 0)
		}
		ends[b.lane] = b.x1
		g.lanes[b.line] = max(g.lanes[b.line], len(ends))
	}
}

// busY returns the y of a bus, from the y of its line's tiles.
func (g *grid) busY(b bus, tiles int) int {
	return tiles + g.height + boxPad + b.lane*laneStep
}

// drawBuses draws buses, trunks and the lines to the GPUs.
func (g *grid) drawBuses(c *canvas, left int) {
	anyPicked := slices.Contains(g.picked, true)
	tilesY := make([]int, g.lines)
	for i, k := range g.tiles {
		tilesY[g.line[i]] = k.y
	}
	reached := make([]int, len(g.domains)+1) // by domain: the y down to which its trunk is drawn
	c.Open(`fill="none" stroke-width="4" stroke-linecap="round"`)
	for j := range g.buses {
		b := &g.buses[j]
		y := g.busY(*b, tilesY[b.line])
		b.x0, b.x1 = b.x0+left, b.x1+left
		c.openTitled(fmt.Sprintf(`stroke="%s"`, domainColor(b.number)), g.domainWords(b.number-1))
		for _, i := range g.domains[b.number-1].gpus {
			if g.line[i] != b.line {
				continue
			}
			style := ""
			if anyPicked && !g.picked[i] {
				style = `stroke-width="2"`
			}
			x := g.tiles[i].x + g.width/2
			c.Line(x, tilesY[b.line]+g.height, x, y, style)
		}
		from := b.x0
		if b.trunk != noTrunk {
			from = left - 10 - b.trunk*trunkStep
			if reached[b.number] > 0 {
				c.Line(from, reached[b.number], from, y, "")
			}
			reached[b.number] = y
		}
		c.Line(from, y, b.x1, y, "")
		c.Close()
	}
	c.Close()
}

// busNames writes the domain's number on each bus, and marks the GPUs with a link that is
// lost.
func (g *grid) busNames(c *canvas) {
	for _, b := range g.buses {
		k := g.tiles[g.domains[b.number-1].gpus[0]]
		for _, i := range g.domains[b.number-1].gpus {
			if g.line[i] == b.line {
				k = g.tiles[i]
			}
		}
		pillSmall.draw(c, (b.x0+b.x1)/2, g.busY(b, k.y), fmt.Sprintf(`fill="%s"`, domainColor(b.number)), cardFill,
			fmt.Sprintf("domain %d", b.number))
	}
	linkDown := make([]bool, len(g.gpus))
	for _, l := range slices.Concat(g.down, g.missing) {
		linkDown[l[0]], linkDown[l[1]] = true, true
	}
	for i, k := range g.tiles {
		if linkDown[i] {
			c.drawSign(k.x+k.w-10, k.y+k.h, 100, signDown)
		}
	}
}
