// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/svg"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// card is the rectangle of a GPU in a picture.
type card struct{ x, y, w, h int }

// The measures of a card with all properties.
const (
	cardWidth  = 146
	narrowCard = 108 // in a row of more than four
	cardHead   = 32  // the line with the index
	cardLine   = 15
	cardGap    = 14
)

// plate draws a card's rectangle, which differs for free, picked, in use, divided and
// unhealthy GPUs.
func (s *checkedView) plate(c *canvas, i int, k card, radius int) {
	fill, edge, line := cardFill, barEdge, 1
	if _, divided := s.gpus[i].Divided(); divided {
		fill, edge = partFill, partEdge
	}
	if !s.gpus[i].Healthy {
		fill, edge, line = unhealthyFill, unhealthyEdge, 2
	}
	if s.inUse[i] {
		fill, edge = "url(#topology-hatch)", inUseEdge
	}
	if s.picked[i] {
		edge, line = pickEdge, 3
		if !s.inUse[i] {
			fill = pickFill
		}
	}
	dash := ""
	if !s.gpus[i].Healthy {
		dash = ` stroke-dasharray="6 4"`
	}
	c.Rect(k.x, k.y, k.w, k.h, radius, fmt.Sprintf(`fill="%s" stroke="%s" stroke-width="%d"%s`, fill, edge, line, dash))
}

// fullCard draws a GPU with the properties that are known of some GPU of the node.
func (s *checkedView) fullCard(c *canvas, i int, k card) {
	c.openTitled(`font-size="11"`, s.caption(i))
	s.plate(c, i, k, 10)
	in, room := 12, 18 // the margin of a line, and the characters that fit it
	if k.w < cardWidth {
		in, room = 9, 15
	}
	c.Text(k.x+in, k.y+23, `font-size="15" font-weight="700"`, fmt.Sprintf("GPU %d", i))
	below := s.shortUser(i)
	if marks := s.marksOf(i); len(marks) > 0 {
		m := marks[len(marks)-1]
		attrs := fmt.Sprintf(`font-weight="600" fill="%s"`, m.color)
		switch {
		case k.w >= cardWidth:
			c.Text(k.x+k.w-10, k.y+23, `text-anchor="end" `+attrs, m.word)
		case m.word != inUse || below == "":
			c.Text(k.x+in, k.y+k.h-9, attrs, m.word)
			below = ""
		}
	}
	s.signs(c, i, k.x+k.w-3, k.y+2, 100)
	font := ""
	for n, text := range s.cardLines(i, k.w) {
		c.Text(k.x+in, k.y+cardHead+10+n*cardLine, font, shortenTo(text, room))
		font = fmt.Sprintf(`font-family="%s" fill="%s"`, svg.Mono, svg.MutedText)
	}
	if below != "" {
		c.Text(k.x+in, k.y+k.h-9, fmt.Sprintf(`font-size="10" font-weight="600" fill="%s"`, inUseEdge),
			shortenTo(below, room*7/6))
	}
	c.Close()
}

// drawTile draws a GPU of a grid with its index and, if it is large, its address.
func (s *checkedView) drawTile(c *canvas, i int, k card, large bool) {
	c.openTitled(`font-weight="700"`, s.caption(i))
	defer c.Close()
	if !large {
		s.plate(c, i, k, 5)
		c.Text(k.x+k.w/2, k.y+16, `text-anchor="middle" font-size="11"`, fmt.Sprint(i))
		s.signs(c, i, k.x+k.w-3, k.y+2, 60)
		return
	}
	s.plate(c, i, k, 8)
	c.Text(k.x+9, k.y+19, `font-size="13"`, fmt.Sprintf("GPU %d", i))
	under := pciAddress(s.gpus[i])
	if under == "" {
		under = terminal.Line(s.gpus[i].Model)
	}
	under = cmp.Or(s.shortUser(i), under)
	c.Text(k.x+9, k.y+36, fmt.Sprintf(`font-family="%s" font-size="11" font-weight="400" fill="%s"`, svg.Mono,
		svg.MutedText), shortenTo(under, 14))
	s.signs(c, i, k.x+k.w-14, k.y+14, 90)
}

// shortUser names who uses a GPU in few words, "train (docker)"; empty if that is not known.
func (s *checkedView) shortUser(i int) string {
	name, _, _ := strings.Cut(s.holderName(i), ", ")
	return strings.TrimPrefix(name, "container ")
}

// cardLines returns the lines of a card below the index. A narrow card has only the last of
// the device nodes, which is the one for computing.
func (s *checkedView) cardLines(i, width int) (lines []string) {
	for _, f := range s.properties {
		g := s.gpus[i]
		if width < cardWidth && len(g.Nodes) > 1 {
			g.Nodes = g.Nodes[len(g.Nodes)-1:]
		}
		text := f.textFor(g)
		if last := len(lines) - 1; f.beside && last >= 0 {
			lines[last] += " · " + text
			continue
		}
		lines = append(lines, text)
	}
	return lines
}

// cardHeight returns the height of a card of a width with all its lines. The last names who
// uses the GPU; in a narrow card also its mark, beside which there is no room for the index.
func (s *checkedView) cardHeight(width int) int {
	lines := 0
	if len(s.gpus) > 0 {
		lines = len(s.cardLines(0, width))
	}
	if slices.ContainsFunc(s.users, func(u string) bool { return u != "" }) || (width < cardWidth && len(s.marks) > 0) {
		lines++
	}
	return cardHead + lines*cardLine + 4
}

// signs draws a GPU's signs from right to left, the first at x, y.
func (s *checkedView) signs(c *canvas, i, x, y, percent int) {
	for _, m := range s.marksOf(i) {
		c.drawSign(x, y, percent, m.sign)
		x -= 20 * percent / 100
	}
}

// caption returns all that is known of a GPU, for its tooltip.
func (s *checkedView) caption(i int) string {
	g := s.gpus[i]
	words := []string{fmt.Sprintf("GPU %d", i)}
	for _, w := range []string{
		g.Model, memorySize(g.MemoryMiB), pciAddress(g), strings.Join(g.Nodes, " "), string(g.UUID),
		g.Serial, s.statusWords(i),
	} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}
