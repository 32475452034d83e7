package topology

import (
	"bytes"
	"fmt"
	"strings"
)

// The colours of the pictures. Nothing is told by colour alone: each meaning
// also has a word, a sign or a line style.
const (
	paper     = "#f5f7fa"
	paperEdge = "#d3dae4"
	boxFill   = "#e9edf3"
	boxEdge   = "#cbd4e0"
	barFill   = "#d3dbe7"
	barEdge   = "#b4c0d0"
	wire      = "#94a3b8"
	ink       = "#16202e"
	soft      = "#52607a"
	cardFill  = "#ffffff"
	pickFill  = "#e7f7ee"
	pickEdge  = "#12804a"
	busyFill  = "#dfe3ea"
	busyEdge  = "#475569"
	partFill  = "#f2effc"
	partEdge  = "#6d28d9"
	sickFill  = "#fdf0ef"
	sickEdge  = "#c0261c"

	sans = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
	mono = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)

// domainColors tell neighbouring MetaXLink domains apart; they come round again.
var domainColors = [...]string{"#4f46e5", "#0f8a8a", "#b45309", "#be1868", "#0a6ebd", "#5f7a12", "#8b34c9", "#9a4a3a"}

func domainColor(number int) string { return domainColors[(number-1)%len(domainColors)] }

// canvas collects SVG elements. Every word from outside passes through escape.
type canvas struct{ bytes.Buffer }

// open starts a group with attributes that its elements share.
func (c *canvas) open(attrs string) { fmt.Fprintf(c, "<g %s>\n", attrs) }

func (c *canvas) close() { c.WriteString("</g>\n") }

// title is what a pointer that rests on the group shows.
func (c *canvas) title(s string) { fmt.Fprintf(c, "<title>%s</title>\n", escape(s)) }

func (c *canvas) rect(x, y, w, h, r int, attrs string) {
	fmt.Fprintf(c, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d" %s/>`+"\n", x, y, w, h, r, attrs)
}

func (c *canvas) line(x1, y1, x2, y2 int, attrs string) {
	c.path(attrs, "M%d %dL%d %d", x1, y1, x2, y2)
}

func (c *canvas) dot(x, y, r int, attrs string) {
	fmt.Fprintf(c, `<circle cx="%d" cy="%d" r="%d" %s/>`+"\n", x, y, r, attrs)
}

func (c *canvas) path(attrs, d string, a ...any) {
	fmt.Fprintf(c, `<path d="%s" %s/>`+"\n", fmt.Sprintf(d, a...), attrs)
}

func (c *canvas) text(x, y int, attrs, s string) {
	fmt.Fprintf(c, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attrs, escape(s))
}

// pill is a word on a rounded ground, centred on x, y; it returns its width.
func (c *canvas) pill(x, y int, fill, edge, color, s string) int {
	w := pillWidth(s)
	c.rect(x-w/2, y-10, w, 20, 10, fmt.Sprintf(`fill="%s" stroke="%s"`, fill, edge))
	c.text(x, y+4, fmt.Sprintf(`text-anchor="middle" font-size="11" font-weight="600" fill="%s"`, color), s)
	return w
}

func pillWidth(s string) int { return textWidth(s, 11) + 20 }

// textWidth estimates from above how wide s is in pixels at a font size; the
// font itself is the viewer's.
func textWidth(s string, size int) int { return cells(s) * size * 63 / 100 }

// A sign is a disc of 18 pixels with a white glyph, drawn around the origin.
type sign func(c *canvas)

// sign draws it around x, y at a size in percent.
func (c *canvas) sign(x, y, percent int, draw sign) {
	scale := ""
	if percent != 100 {
		scale = fmt.Sprintf(" scale(0.%02d)", percent)
	}
	c.open(fmt.Sprintf(`transform="translate(%d %d)%s" fill="none" stroke="#ffffff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"`, x, y, scale))
	draw(c)
	c.close()
}

func signPicked(c *canvas) {
	c.dot(0, 0, 9, fmt.Sprintf(`fill="%s"`, pickEdge))
	c.path("", "M-4 0l3 3l5 -6")
}

func signSecond(c *canvas) {
	c.dot(0, 0, 9, fmt.Sprintf(`fill="%s"`, pickEdge))
	c.path("", "M-3 -2a3 3 0 0 1 6 0c0 2 -6 3 -6 6h6")
}

func signBusy(c *canvas) {
	c.dot(0, 0, 9, fmt.Sprintf(`fill="%s"`, busyEdge))
	c.path("", "M-2 -1v-1a2 2 0 0 1 4 0v1")
	c.rect(-4, -1, 8, 5, 1, `fill="#ffffff" stroke="none"`)
}

// signDivided is a card cut in four.
func signDivided(c *canvas) {
	c.dot(0, 0, 9, fmt.Sprintf(`fill="%s"`, partEdge))
	c.path("", "M0 -4v8M-4 0h8")
}

func signUnhealthy(c *canvas) {
	c.dot(0, 0, 9, fmt.Sprintf(`fill="%s"`, sickEdge))
	c.path("", "M0 -4v4M0 4v0")
}

func signDown(c *canvas) {
	c.dot(0, 0, 7, fmt.Sprintf(`fill="#ffffff" stroke="%s"`, sickEdge))
	c.path(fmt.Sprintf(`stroke="%s"`, sickEdge), "M-3 -3l6 6m0 -6l-6 6")
}

// escape makes s safe as text and as an attribute's value.
func escape(s string) string {
	var b strings.Builder
	for _, r := range clean(s) {
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '"':
			b.WriteString("&quot;")
		case '\'':
			b.WriteString("&apos;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
