// SPDX-License-Identifier: Apache-2.0

package svg

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// Canvas collects elements, one per line. Lengths are in pixels; attrs are more attributes of
// the element, as SVG text.
type Canvas struct{ bytes.Buffer }

// Begin starts a picture, and End ends it. The title and the description are for people who
// cannot see it. Their ids begin with name; without a description there are no ids.
func (c *Canvas) Begin(name string, width, height int, title, description string) {
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img"`,
		width, height)
	if description != "" {
		fmt.Fprintf(c, ` aria-labelledby="%[1]s-title %[1]s-desc"`, name)
	}
	fmt.Fprintf(c, ` font-family="%s" font-size="12" fill="%s">`+"\n", sans, Text)
	if description == "" {
		c.Title(title)
		return
	}
	fmt.Fprintf(c, `<title id="%s-title">%s</title>`+"\n", name, Escape(title))
	fmt.Fprintf(c, `<desc id="%s-desc">%s</desc>`+"\n", name, Escape(description))
}

// End ends the picture.
func (c *Canvas) End() { c.WriteString("</svg>\n") }

// Open starts a group; its elements share the attributes.
func (c *Canvas) Open(attrs string) { fmt.Fprintf(c, "<g %s>\n", attrs) }

// Close ends the group that was opened last.
func (c *Canvas) Close() { c.WriteString("</g>\n") }

// Title sets the tooltip of the group.
func (c *Canvas) Title(s string) { fmt.Fprintf(c, "<title>%s</title>\n", Escape(s)) }

// Rect draws a rectangle with corners of radius r.
func (c *Canvas) Rect(x, y, w, h, r int, attrs string) {
	fmt.Fprintf(c, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d" %s/>`+"\n", x, y, w, h, r, attrs)
}

// Line draws a straight line.
func (c *Canvas) Line(x1, y1, x2, y2 int, attrs string) {
	c.Path(attrs, "M%d %dL%d %d", x1, y1, x2, y2)
}

// Dot draws a circle around x, y.
func (c *Canvas) Dot(x, y, r int, attrs string) {
	fmt.Fprintf(c, `<circle cx="%d" cy="%d" r="%d" %s/>`+"\n", x, y, r, attrs)
}

// Path draws a path; d is a format for the numbers a.
func (c *Canvas) Path(attrs, d string, a ...any) {
	fmt.Fprintf(c, `<path d="%s" %s/>`+"\n", fmt.Sprintf(d, a...), attrs)
}

// Text writes s with its baseline beginning at x, y, unless attrs anchor it elsewhere.
func (c *Canvas) Text(x, y int, attrs, s string) {
	fmt.Fprintf(c, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attrs, Escape(s))
}

// Escape makes s safe as text and as the value of an attribute. A character that is not
// printable, such as a change of writing direction, becomes U+FFFD.
func Escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\'':
			b.WriteString("&apos;")
		case terminal.Printable(r):
			b.WriteRune(r)
		default:
			b.WriteRune(unicode.ReplacementChar)
		}
	}
	return b.String()
}
