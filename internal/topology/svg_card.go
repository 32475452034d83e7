package topology

import (
	"fmt"
	"strings"
)

// card is where a GPU stands in a picture.
type card struct{ x, y, w, h int }

// The size of a card with everything on it.
const (
	cardWidth  = 146
	cardHeight = 96
	cardGap    = 14
)

// ground draws a card's plate, which alone tells picked, busy and unhealthy
// apart from free.
func (s *scene) ground(c *canvas, i int, k card, radius int) {
	fill, edge, line := cardFill, barEdge, 1
	if !s.gpus[i].Healthy {
		fill, edge, line = sickFill, sickEdge, 2
	}
	if s.busy[i] {
		fill, edge = "url(#topology-hatch)", busyEdge
	}
	if s.picked[i] {
		edge, line = pickEdge, 3
		if !s.busy[i] {
			fill = pickFill
		}
	}
	dash := ""
	if !s.gpus[i].Healthy {
		dash = ` stroke-dasharray="6 4"`
	}
	c.rect(k.x, k.y, k.w, k.h, radius, fmt.Sprintf(`fill="%s" stroke="%s" stroke-width="%d"%s`, fill, edge, line, dash))
}

// fullCard draws a GPU with all its names.
func (s *scene) fullCard(c *canvas, i int, k card) {
	g := s.gpus[i]
	c.open(`font-size="11"`)
	c.title(s.caption(i))
	s.ground(c, i, k, 10)
	x := k.x + 12
	c.text(x, k.y+23, `font-size="15" font-weight="700"`, fmt.Sprintf("GPU %d", i))
	s.chip(c, i, k)
	const room = 18 // characters that fit a line
	kind := strings.Trim(clean(g.Model)+" · "+memory(g.MemoryMiB), " ·")
	c.text(x, k.y+42, "", fit(orUnknown(kind, "model unknown"), room))
	c.open(fmt.Sprintf(`font-family="%s" fill="%s"`, mono, soft))
	c.text(x, k.y+58, "", orUnknown(address(g.BDF), "address unknown"))
	c.text(x, k.y+73, "", fit(orUnknown(deviceNodes(g), "no device nodes"), room))
	if g.UUID != "" {
		c.text(x, k.y+88, `font-size="10"`, short(g.UUID))
	}
	c.close()
	c.close()
}

// chip says in a word and a sign why a GPU is not free, or that it is picked.
func (s *scene) chip(c *canvas, i int, k card) {
	word, color := "", ""
	sign := (*canvas).signPicked
	switch {
	case !s.gpus[i].Healthy:
		word, color, sign = "unhealthy", sickEdge, (*canvas).signSick
	case s.busy[i]:
		word, color, sign = "busy", busyEdge, (*canvas).signBusy
	case s.picked[i]:
		word, color = "picked", pickEdge
	default:
		return
	}
	right := k.x + k.w - 10
	c.text(right, k.y+22, fmt.Sprintf(`text-anchor="end" font-weight="600" fill="%s"`, color), word)
	if word == "picked" {
		sign(c, k.x+k.w-2, k.y+2)
		return
	}
	sign(c, right-textWidth(word, 11)-11, k.y+18)
	if s.picked[i] {
		c.signPicked(k.x+k.w-2, k.y+2)
	}
}

// caption is all that is known of a GPU, for a pointer that rests on it.
func (s *scene) caption(i int) string {
	g := s.gpus[i]
	words := []string{fmt.Sprintf("GPU %d", i)}
	for _, w := range append([]string{g.Model, address(g.BDF), memory(g.MemoryMiB), string(g.UUID), g.Serial, strings.Join(g.Nodes, " ")}, s.status(i)...) {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}

func orUnknown(s, unknown string) string {
	if s == "" {
		return unknown
	}
	return s
}
