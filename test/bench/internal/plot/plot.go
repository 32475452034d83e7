package plot

import (
	"fmt"
	"math"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/svg"
)

// Chart is panels side by side that share their vertical axis.
type Chart struct {
	Title  string
	X      string // what the horizontal axes count
	Styles []Style
	Panels []Panel
	// Tick is the words for a power of ten on the vertical axis.
	Tick func(value float64) string
}

// Style is how the lines of that index look in each panel.
type Style struct {
	Name  string
	Color string
	Dash  string // of stroke-dasharray; empty for a line without gaps
}

// Panel is one set of axes.
type Panel struct {
	Title string
	// Lines are values by what the horizontal axis counts, from 1 on: Lines[i][0] is at 1. A
	// value that is not above 0 is a gap.
	Lines [][]float64
	// Words replace the numbers under the axis; nil for numbers.
	Words []string
}

// Measures, in pixels.
const (
	left, top, bottom = 64, 62, 58
	height            = 250 // of the axes
	step              = 17  // from one number to the next
	wordStep          = 90  // from one word to the next
	between           = 26  // panels
	key               = 16  // of the line that stands before a style's name
	letter            = 6.6
)

const (
	paper = "#ffffff"
	grid  = "#e3e8ef"
)

// SVG draws the chart. The same chart gives the same bytes.
func (c Chart) SVG() []byte {
	low, high := c.span()
	width := left
	for _, p := range c.Panels {
		width += p.width() + between
	}
	b := &svg.Canvas{}
	total := top + height + bottom
	b.Begin("", width, total, c.Title, "")
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="%s"/>`+"\n", width, total, paper)
	fmt.Fprintf(b, `<text x="%d" y="22" font-size="14" font-weight="600">%s</text>`+"\n", left, svg.Escape(c.Title))
	y := func(value float64) float64 {
		return top + height*(float64(high)-math.Log10(value))/float64(high-low)
	}
	for e := low; e <= high; e++ {
		text(b, left-8, y(math.Pow10(e))+4, "end", svg.MutedText, c.Tick(math.Pow10(e)))
	}
	x := left
	for _, p := range c.Panels {
		for e := low; e <= high; e++ {
			at := y(math.Pow10(e))
			b.Path(fmt.Sprintf(`stroke="%s"`, grid), "M%d %.1fh%d", x, at, p.width())
		}
		text(b, float64(x+p.width()/2), top-10, "middle", svg.Text, p.Title)
		for n := 1; n <= p.numbers(); n++ {
			if word := p.word(n); word != "" {
				text(b, float64(x+n*p.step()), top+height+16, "middle", svg.MutedText, word)
			}
		}
		for i, line := range p.Lines {
			c.Styles[i].draw(b, x, p.step(), line, y)
		}
		x += p.width() + between
	}
	c.legend(b, float64(top+height+bottom-12))
	b.End()
	return b.Bytes()
}

// legend names the styles and what the horizontal axes count.
func (c Chart) legend(b *svg.Canvas, y float64) {
	x := float64(left)
	for _, s := range c.Styles {
		b.Path(s.attributes(), "M%.1f %.1fh%d", x, y-4, key)
		text(b, x+key+6, y, "start", svg.Text, s.Name)
		x += key + 26 + letter*float64(len([]rune(s.Name)))
	}
	text(b, x, y, "start", svg.MutedText, c.X)
}

// draw joins the values of a line, with a dot at each.
func (s Style) draw(b *svg.Canvas, x, step int, line []float64, y func(float64) float64) {
	var path, dots strings.Builder
	pen := "M"
	for i, value := range line {
		if value <= 0 {
			pen = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%d %.1f", pen, x+(i+1)*step, y(value))
		fmt.Fprintf(&dots, `<circle cx="%d" cy="%.1f" r="2.4" fill="%s"/>`+"\n", x+(i+1)*step, y(value), s.Color)
		pen = "L"
	}
	if path.Len() > 0 {
		b.Path(s.attributes(), "%s", path.String())
		b.WriteString(dots.String())
	}
}

func (s Style) attributes() string {
	a := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"`, s.Color)
	if s.Dash != "" {
		a += fmt.Sprintf(` stroke-dasharray="%s"`, s.Dash)
	}
	return a
}

// span is the powers of ten that hold all values, at least one decade.
func (c Chart) span() (low, high int) {
	least, most := math.Inf(1), math.Inf(-1)
	for _, p := range c.Panels {
		for _, line := range p.Lines {
			for _, value := range line {
				if value > 0 {
					least, most = min(least, value), max(most, value)
				}
			}
		}
	}
	if least > most {
		return 0, 1
	}
	low, high = int(math.Floor(math.Log10(least))), int(math.Ceil(math.Log10(most)))
	return low, max(high, low+1)
}

func (p Panel) numbers() (most int) {
	for _, line := range p.Lines {
		most = max(most, len(line))
	}
	return most
}

func (p Panel) width() int { return (p.numbers() + 1) * p.step() }

// step is from one number to the next.
func (p Panel) step() int {
	if p.Words != nil {
		return wordStep
	}
	return step
}

// word is what stands under the axis at a number; nothing under every second one.
func (p Panel) word(n int) string {
	switch {
	case n <= len(p.Words):
		return p.Words[n-1]
	case p.Words == nil && (n == 1 || n%2 == 0):
		return fmt.Sprint(n)
	}
	return ""
}

func text(b *svg.Canvas, x, y float64, anchor, color, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, color, svg.Escape(s))
}
