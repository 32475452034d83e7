// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/svg"
)

// canvas adds the elements of these pictures to svg.Canvas.
type canvas struct{ svg.Canvas }

// openTitled opens a group with a tooltip.
func (c *canvas) openTitled(attrs, title string) {
	c.Open(attrs)
	c.Title(title)
}

// drawBox draws the frame of a NUMA node, with its name at y.
func (c *canvas) drawBox(k card, radius, y int, name string) {
	c.Rect(k.x, k.y, k.w, k.h, radius, fmt.Sprintf(`fill="%s" stroke="%s"`, boxFill, boxEdge))
	c.Text(k.x+boxPad, y, fmt.Sprintf(`font-weight="600" fill="%s"`, svg.MutedText), name)
}

// drawBar draws a host bridge or a switch.
func (c *canvas) drawBar(k card, radius int) {
	c.Rect(k.x, k.y, k.w, k.h, radius, fmt.Sprintf(`fill="%s" stroke="%s"`, barFill, barEdge))
}

// pill is a word on a rounded background. Measures are in pixels.
type pill struct{ size, height, room int }

var (
	pillLarge = pill{size: 11, height: 20, room: 20}
	pillSmall = pill{size: 10, height: 16, room: 12}
)

func (p pill) widthFor(s string) int { return textWidth(s, p.size) + p.room }

// draw draws the pill around x, y; ground is the attributes of the background.
func (p pill) draw(c *canvas, x, y int, ground, color, s string) {
	w := p.widthFor(s)
	c.Rect(x-w/2, y-p.height/2, w, p.height, p.height/2, ground)
	c.Text(x, y+4, fmt.Sprintf(`text-anchor="middle" font-size="%d" font-weight="600" fill="%s"`, p.size, color), s)
}

// textWidth estimates, rather too wide, the width of s in pixels at a font size; the viewer
// chooses the font.
func textWidth(s string, size int) int { return textColumns(s) * size * 63 / 100 }
