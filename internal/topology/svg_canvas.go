package topology

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/svg"
)

// The colours of the pictures. No meaning is shown by colour alone: each also has a word, a
// sign or a line style.
const (
	boxFill       = "#e9edf3"
	boxEdge       = "#cbd4e0"
	barFill       = "#d3dbe7"
	barEdge       = "#b4c0d0"
	wire          = "#94a3b8"
	kindEdge      = "#64748b"
	cardFill      = "#ffffff"
	pickFill      = "#e7f7ee"
	pickEdge      = "#12804a"
	inUseFill     = "#dfe3ea"
	inUseEdge     = "#475569"
	partFill      = "#f2effc"
	partEdge      = "#6d28d9"
	unhealthyFill = "#fdf0ef"
	unhealthyEdge = "#c0261c"
)

// hatchLine is the colour of the stripes of a GPU in use.
const hatchLine = "#d3d8e1"

// darkColors are the colours on dark screens.
func darkColors() svg.Colors {
	return append(svg.Common(), svg.Colors{
		{boxFill, "#1a2438"},
		{boxEdge, "#3a475c"},
		{barFill, "#2b384f"},
		{barEdge, "#52627a"},
		{wire, "#64748b"},
		{kindEdge, "#94a3b8"},
		{cardFill, "#111a2c"},
		{pickFill, "#0f3327"},
		{pickEdge, "#34c98a"},
		{inUseFill, "#2a3346"},
		{hatchLine, "#39455b"},
		{inUseEdge, "#a3b1c6"},
		{partFill, "#241a45"},
		{partEdge, "#a78bfa"},
		{unhealthyFill, "#3b1618"},
		{unhealthyEdge, "#f87171"},
	}...)
}

// kindLine returns the attributes of the line that stands for a kind of link other than
// MetaXLink. Lines differ by their dashes, so that they can be told apart without color.
func kindLine(k Kind) string {
	dash := ""
	switch k {
	case PXB:
		dash = ` stroke-dasharray="7 2"`
	case PHB:
		dash = ` stroke-dasharray="3 2"`
	case NODE:
		dash = ` stroke-dasharray="0 6" stroke-linecap="round"`
	case SYS:
		dash = ` stroke-dasharray="8 7" stroke-linecap="round"`
	case Unknown:
		return fmt.Sprintf(`stroke="%s" stroke-width="1"`, kindEdge)
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="3"%s`, kindEdge, dash)
}

// domainColors distinguish neighbouring domains; they repeat.
var domainColors = [...]string{svg.Indigo, svg.Teal, svg.Amber, svg.Rose, svg.Blue, svg.Olive, svg.Violet, svg.Brown}

// domainColor returns the colour of a domain, by its number from 1.
func domainColor(number int) string { return domainColors[(number-1)%len(domainColors)] }

// canvas adds the elements of these pictures to svg.Canvas.
type canvas struct{ svg.Canvas }

// titled opens a group with a tooltip.
func (c *canvas) titled(attrs, title string) {
	c.Open(attrs)
	c.Title(title)
}

// box draws the frame of a NUMA node, with its name at y.
func (c *canvas) box(k card, radius, y int, name string) {
	c.Rect(k.x, k.y, k.w, k.h, radius, fmt.Sprintf(`fill="%s" stroke="%s"`, boxFill, boxEdge))
	c.Text(k.x+boxPad, y, fmt.Sprintf(`font-weight="600" fill="%s"`, svg.MutedText), name)
}

// bar draws a host bridge or a switch.
func (c *canvas) bar(k card, radius int) {
	c.Rect(k.x, k.y, k.w, k.h, radius, fmt.Sprintf(`fill="%s" stroke="%s"`, barFill, barEdge))
}

// pill is a word on a rounded background. Measures are in pixels.
type pill struct{ size, height, room int }

var (
	pillLarge = pill{size: 11, height: 20, room: 20}
	pillSmall = pill{size: 10, height: 16, room: 12}
)

func (p pill) width(s string) int { return textWidth(s, p.size) + p.room }

// draw draws the pill around x, y; ground is the attributes of the background.
func (p pill) draw(c *canvas, x, y int, ground, color, s string) {
	w := p.width(s)
	c.Rect(x-w/2, y-p.height/2, w, p.height, p.height/2, ground)
	c.Text(x, y+4, fmt.Sprintf(`text-anchor="middle" font-size="%d" font-weight="600" fill="%s"`, p.size, color), s)
}

// textWidth estimates, rather too wide, the width of s in pixels at a font size; the viewer
// chooses the font.
func textWidth(s string, size int) int { return cells(s) * size * 63 / 100 }

// sign is a disc of 18 pixels with a white glyph, drawn around the origin.
type sign func(c *canvas)

// sign draws a sign around x, y at a size in percent.
func (c *canvas) sign(x, y, percent int, draw sign) {
	scale := ""
	if percent != 100 {
		scale = fmt.Sprintf(" scale(0.%02d)", percent)
	}
	c.Open(fmt.Sprintf(`transform="translate(%d %d)%s" fill="none" stroke="#ffffff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"`, x, y, scale))
	draw(c)
	c.Close()
}

var (
	signPicked    = disc(pickEdge, "M-4 0l3 3l5 -6")
	signSecond    = disc(pickEdge, "M-3 -2a3 3 0 0 1 6 0c0 2 -6 3 -6 6h6")
	signDivided   = disc(partEdge, "M0 -4v8M-4 0h8") // a card cut in four
	signUnhealthy = disc(unhealthyEdge, "M0 -4v4M0 4v0")
)

// disc returns a sign of a colour, with a line as its glyph.
func disc(color, glyph string) sign {
	return func(c *canvas) {
		c.Dot(0, 0, 9, fmt.Sprintf(`fill="%s"`, color))
		c.Path("", "%s", glyph)
	}
}

// signInUse draws a lock.
func signInUse(c *canvas) {
	disc(inUseEdge, "M-2 -1v-1a2 2 0 0 1 4 0v1")(c)
	c.Rect(-4, -1, 8, 5, 1, `fill="#ffffff" stroke="none"`)
}

// signNone draws a struck line.
func signNone(c *canvas) {
	attrs := fmt.Sprintf(`stroke="%s"`, kindEdge)
	c.Line(-11, 0, 11, 0, attrs)
	c.Line(-5, 7, 5, -7, attrs)
}

// signNIC draws a plug.
func signNIC(c *canvas) {
	disc(wire, "M-2 -5v3M2 -5v3M-4 -2h8v2a4 4 0 0 1 -8 0zM0 4v2")(c)
}

// signDown draws a cross.
func signDown(c *canvas) {
	c.Dot(0, 0, 7, fmt.Sprintf(`fill="#ffffff" stroke="%s"`, unhealthyEdge))
	c.Path(fmt.Sprintf(`stroke="%s"`, unhealthyEdge), "M-3 -3l6 6m0 -6l-6 6")
}
