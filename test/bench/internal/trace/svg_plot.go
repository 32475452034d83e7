package trace

import (
	"fmt"
	"math"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/svg"
)

// plot is one diagram over time.
type plot struct {
	heading   string
	of        func(Point) float64
	top, step float64 // of its scale, which begins at 0
	y         int     // of its upper edge
	end       Time    // of its time, which begins at 0
}

// fitted gives a plot the least scale that all points are within.
func fitted(p plot, results []Result) plot {
	most := 0.0
	for _, r := range results {
		for _, at := range r.drawn() {
			most = max(most, p.of(at.Point))
		}
	}
	for _, scale := range [][2]float64{{0.05, 0.01}, {0.1, 0.02}, {0.2, 0.05}, {0.4, 0.1}, {0.6, 0.1}, {1, 0.2}} {
		if p.top, p.step = scale[0], scale[1]; most <= p.top {
			break
		}
	}
	return p
}

// drawnPoint is a Point in the middle of its time.
type drawnPoint struct {
	at Time
	Point
}

// drawn are the points of the line, each the mean of as many as it takes.
func (r Result) drawn() []drawnPoint {
	if r.Timeline == nil {
		return nil
	}
	var drawn []drawnPoint
	all := r.Timeline.Points
	per := (len(all) + maxDrawn - 1) / maxDrawn
	for from := 0; from < len(all); from += per {
		to := min(from+per, len(all))
		var sum Point
		for _, p := range all[from:to] {
			sum.Utilisation += p.Utilisation
			sum.Fragmentation += p.Fragmentation
		}
		n := float64(to - from)
		begin, end := Time(from)*r.Timeline.Step, min(Time(to)*r.Timeline.Step, r.Makespan)
		drawn = append(drawn, drawnPoint{
			at: begin + (end-begin)/2, Point: Point{Utilisation: sum.Utilisation / n, Fragmentation: sum.Fragmentation / n},
		})
	}
	return drawn
}

func (p plot) draw(c *svg.Canvas, results []Result) {
	c.Text(plotLeft, p.y-12, `font-size="13" font-weight="600"`, p.heading)
	fmt.Fprintf(c, `<rect x="%d" y="%d" width="%d" height="%d" fill="#ffffff" stroke="%s"/>`+"\n", plotLeft, p.y, plotRight-plotLeft, plotHeight, svg.Border)
	for i := 0; float64(i)*p.step < p.top+p.step/2; i++ {
		v := float64(i) * p.step
		y := p.atValue(v)
		c.Line(plotLeft-5, y, plotRight, y, fmt.Sprintf(`stroke="%s"`, svg.Border))
		c.Text(plotLeft-9, y+4, `text-anchor="end"`, fmt.Sprintf("%.0f %%", 100*v))
	}
	step := tick(p.end)
	for t := Time(0); t <= p.end; t += step {
		x := p.atTime(t)
		c.Line(x, p.y+plotHeight, x, p.y+plotHeight+5, fmt.Sprintf(`stroke="%s"`, svg.MutedText))
		c.Text(x, p.y+plotHeight+19, `text-anchor="middle"`, tickLabel(t, step))
	}
	c.Text(plotRight, p.y+plotHeight+35, fmt.Sprintf(`text-anchor="end" fill="%s"`, svg.MutedText), "since the first arrival")
	for i, r := range results {
		var d strings.Builder
		for j, at := range r.drawn() {
			command := "L"
			if j == 0 {
				command = "M"
			}
			fmt.Fprintf(&d, "%s%d %d", command, p.atTime(at.at), p.atValue(p.of(at.Point)))
		}
		if d.Len() > 0 {
			c.WriteString("<g>")
			c.Title(r.Policy)
			c.Path(`fill="none" stroke-linejoin="round" `+stroke(i), "%s", d.String())
			c.Close()
		}
	}
}

func (p plot) atValue(v float64) int {
	return p.y + plotHeight - int(math.Round(min(v/p.top, 1)*plotHeight))
}

func (p plot) atTime(t Time) int {
	return plotLeft + int(math.Round(float64(t)/float64(p.end)*(plotRight-plotLeft)))
}

// maxTicks is how many steps a time axis has at most.
const maxTicks = 10

// tick is the step of a time axis: a round one that fits.
func tick(end Time) Time {
	for unit := Millisecond; unit < Second; unit *= 10 {
		for _, n := range []Time{1, 2, 5} {
			if end/(n*unit) <= maxTicks {
				return n * unit
			}
		}
	}
	for _, step := range []Time{
		Second, 2 * Second, 5 * Second, 10 * Second, 30 * Second, Minute, 2 * Minute, 5 * Minute, 10 * Minute, 30 * Minute,
		Hour, 2 * Hour, 6 * Hour, 12 * Hour,
	} {
		if end/step <= maxTicks {
			return step
		}
	}
	for unit := Day; ; unit *= 10 {
		for _, n := range []Time{1, 2, 5} {
			if end/(n*unit) <= maxTicks {
				return n * unit
			}
		}
	}
}

// tickLabel writes a time in the greatest unit that its axis' steps are whole in.
func tickLabel(t, step Time) string {
	for _, u := range []struct {
		of   Time
		name string
	}{{Day, "d"}, {Hour, "h"}, {Minute, "min"}, {Second, "s"}} {
		if step%u.of == 0 {
			return fmt.Sprintf("%d %s", t/u.of, u.name)
		}
	}
	return fmt.Sprintf("%d ms", int64(t))
}
