package trace

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode"
)

// The colours are those of the pictures of a node, in package topology.
const (
	paper = "#f5f7fa"
	edge  = "#d3dae4"
	ink   = "#16202e"
	soft  = "#52607a"
	sans  = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
)

// A line is told by its dashes even where colours are not to be seen.
var (
	colors = [...]string{"#4f46e5", "#b45309", "#0f8a8a", "#be1868", "#5f7a12", "#0a6ebd", "#8b34c9"}
	dashes = [...]string{"", "9 5", "2 4", "12 4 2 4", "5 3", "16 5", "8 3 2 3 2 3"}
)

// stroke is the style of the line of a policy, by its place in the list.
func stroke(i int) string {
	s := fmt.Sprintf(`stroke="%s" stroke-width="2"`, colors[i%len(colors)])
	if d := dashes[i%len(dashes)]; d != "" {
		s += fmt.Sprintf(` stroke-dasharray="%s"`, d)
	}
	return s
}

// canvas collects SVG elements.
type canvas struct{ bytes.Buffer }

func (c *canvas) line(x1, y1, x2, y2 int, attrs string) {
	c.path(fmt.Sprintf("M%d %dL%d %d", x1, y1, x2, y2), attrs)
}

func (c *canvas) path(d, attrs string) { fmt.Fprintf(c, `<path d="%s" %s/>`+"\n", d, attrs) }

func (c *canvas) text(x, y int, attrs, s string) {
	if attrs != "" {
		attrs = " " + attrs
	}
	fmt.Fprintf(c, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, attrs, escape(s))
}

// escape makes words from outside safe as text: what XML gives a meaning, and what
// is not printable.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s))
}
