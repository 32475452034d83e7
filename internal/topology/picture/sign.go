// SPDX-License-Identifier: Apache-2.0

package picture

import "fmt"

// sign is a disc of 18 pixels with a white glyph, drawn around the origin.
type sign func(c *canvas)

// drawSign draws a sign around x, y at a size in percent.
func (c *canvas) drawSign(x, y, percent int, draw sign) {
	scale := ""
	if percent != 100 {
		scale = fmt.Sprintf(" scale(0.%02d)", percent)
	}
	c.Open(fmt.Sprintf(
		`transform="translate(%d %d)%s" fill="none" stroke="#ffffff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"`, x, y, scale))
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
