package trace

import (
	"fmt"
	"io"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/svg"
)

// Picture is what SVG draws.
type Picture struct {
	Title, Note string
	Results     []Result // with Timelines
}

// The measures of a picture, in pixels.
const (
	margin      = 24
	pictureW    = 900
	plotLeft    = margin + 46
	plotRight   = pictureW - margin - 8
	plotHeight  = 190
	header      = 84 // down to the first plot's heading
	plotHeading = 30 // from a heading to its plot
	plotFoot    = 52 // from a plot to what follows
	legendRow   = 24
)

// maxDrawn is how many points of a line are drawn: more would be a scribble.
const maxDrawn = 120

// SVG writes a self-contained picture of how utilisation and fragmentation went,
// a line for each policy, told apart by dashes as well as by colour.
func SVG(w io.Writer, p Picture) error {
	height := header + 2*(plotHeading+plotHeight+plotFoot) + len(p.Results)*legendRow + margin/2
	var c svg.Canvas
	c.Begin("trace", pictureW, height, p.Title, p.inWords())
	c.Rect(1, 1, pictureW-2, height-2, 16, fmt.Sprintf(`fill="%s" stroke="%s"`, svg.Background, svg.Border))
	c.Text(margin, 42, `font-size="22" font-weight="700"`, clip(p.Title, 58))
	c.Text(margin, 64, fmt.Sprintf(`font-size="13" fill="%s"`, svg.MutedText), clip(p.Note, 110))

	end := Time(1)
	for _, r := range p.Results {
		end = max(end, r.Makespan)
	}
	y := header
	for _, plot := range []plot{
		{heading: "Utilisation: GPUs that jobs have", of: func(p Point) float64 { return p.Utilisation }, top: 1, step: 0.2},
		fitted(plot{heading: "Fragmentation: jobs of 8, 4 and 2 that the free GPUs could serve if they lay well, and cannot", of: func(p Point) float64 { return p.Fragmentation }}, p.Results),
	} {
		plot.y, plot.end = y+plotHeading, end
		plot.draw(&c, p.Results)
		y += plotHeading + plotHeight + plotFoot
	}
	for i, r := range p.Results {
		c.Line(margin, y+6, margin+56, y+6, stroke(i))
		fmt.Fprintf(&c, `<text x="%d" y="%d">%s</text>`+"\n", margin+66, y+10, svg.Escape(clip(r.inWords(), 126)))
		y += legendRow
	}
	c.End()
	if _, err := w.Write(c.Bytes()); err != nil {
		return fmt.Errorf("write SVG: %w", err)
	}
	return nil
}

// inWords describes the picture for those who do not see it.
func (p Picture) inWords() string {
	words := []string{p.Note + "."}
	for _, r := range p.Results {
		words = append(words, r.inWords()+".")
	}
	return strings.Join(words, " ")
}

// inWords is a policy's line of the legend.
func (r Result) inWords() string {
	return fmt.Sprintf("%s: %s of jobs ran, %s of those for 2 or more GPUs linked; utilised %s, fragmented %s",
		r.Policy, percent(r.Acceptance), percent(r.Linked), percent(r.Utilisation), percent(r.Fragmentation))
}

// clip shortens s to at most n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
