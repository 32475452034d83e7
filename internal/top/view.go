// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Style is how a span looks.
type Style int

// The styles. Stale is for old values, Low to High for how much of a GPU is used.
const (
	Plain Style = iota
	Title
	Heading
	Stale
	Low
	Middle
	High
	Bad
)

// Span is text of one style.
type Span struct {
	Text  string // printable
	Style Style
}

// Line is a line of the screen.
type Line []Span

// String returns the text of the line.
func (l Line) String() string {
	var text strings.Builder
	for _, s := range l {
		text.WriteString(s.Text)
	}
	return text.String()
}

// fit returns the line in that many columns, with a mark if some of it is left out.
func (l Line) fit(width int) Line {
	if utf8.RuneCountInString(l.String()) <= width {
		return l
	}
	var cut Line
	for _, s := range l {
		n := utf8.RuneCountInString(s.Text)
		if n >= width {
			return append(cut, Span{string([]rune(s.Text)[:max(width-1, 0)]) + "…", s.Style})
		}
		cut, width = append(cut, s), width-n
	}
	return cut
}

// barWidth is the length of the bar beside the utilisation, in columns.
const barWidth = 10

// barsFrom is the width of a screen from which there are bars, and the clock.
const barsFrom = 100

// lowBelow is the height of a screen below which GPUs alone are shown: neither blank lines nor
// the queue, whose length is in the title.
const lowBelow = 14

// View returns the screen at a time, of at most height lines. A line that is longer than
// width ends in a mark.
func (m Model) View(now time.Time, width, height int) []Line {
	t := m.State.Top(now)
	if m.Paused != nil {
		t = *m.Paused
	}
	lines, foot := []Line{m.title(t), t.Freshness(), nil}, []Line{nil}
	queue := queueLines(t.Queue)
	if height < lowBelow {
		lines, foot, queue = lines[:2], nil, nil
	}
	foot = append(foot, Line{{"q quit   s sort: " + m.Order.String() + "   p pause   up/down scroll   ? help", Stale}})
	if m.Help {
		lines = append(lines, helpLines...)
	} else {
		lines = append(lines, m.table(t, width, height-len(lines)-len(queue)-len(foot))...)
		lines = append(lines, queue...)
	}
	lines = append(lines[:max(min(len(lines), height-len(foot)), 0)], foot...)
	for i := range lines {
		lines[i] = lines[i].fit(width)
	}
	return lines
}

func (m Model) title(t Top) Line {
	line := Line{{"metax-ctk top", Title}}
	if t.Node != "" {
		line = append(line, Span{"  " + t.Node, Plain})
	}
	if t.Summary != nil {
		line = append(line, Span{fmt.Sprintf("  %d of %s free", t.Summary.Free, wording.Count(t.Summary.GPUs, "GPU")), Plain})
	}
	if len(t.Queue) > 0 {
		line = append(line, Span{"  " + wording.Count(len(t.Queue), "request") + " in the queue", Plain})
	}
	if m.Paused != nil {
		line = append(line, Span{"  paused", Bad})
	}
	return line
}

// Freshness says where readings come from, and how old they and the users are if they are
// old.
func (t Top) Freshness() Line {
	var line Line
	for i, s := range []struct {
		what string
		of   Source
	}{{"readings", t.Readings}, {"users", t.Users}} {
		text, style := s.what, Stale
		if s.of.Name != "" {
			text += ": " + s.of.Name
		}
		switch {
		case s.of.AgeSeconds == nil && s.of.Message == "":
			text += ": not known yet"
		case s.of.AgeSeconds == nil:
			style = Bad
		case s.of.Stale:
			text, style = fmt.Sprintf("%s, %d s old", text, *s.of.AgeSeconds), Bad
		case i > 0 && s.of.Message == "":
			continue // they are fresh
		}
		if s.of.Message != "" {
			text += ": " + s.of.Message
		}
		if len(line) > 0 {
			text = "   " + text
		}
		line = append(line, Span{text, style})
	}
	return line
}

// table has the heading and at most height - 1 rows, from Offset.
func (m Model) table(t Top, width, height int) []Line {
	gpus := m.Order.sortedGPUs(t.GPUs)
	rows := [][]string{Head}
	for _, g := range gpus {
		rows = append(rows, g.Row())
	}
	widths := make([]int, len(Head))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	bars := width >= barsFrom
	var lines []Line
	for i, row := range rows {
		if i > 0 && i <= m.Offset {
			continue
		}
		if len(lines) >= max(height, 1) {
			break
		}
		line := Line{}
		for j, cell := range row {
			if j == clockColumn && !bars { // who uses a GPU has to fit
				continue
			}
			text := cell
			if j < len(row)-1 {
				text += strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+2)
			}
			line = append(line, Span{text, m.style(t, i, j, gpus)})
			if j == utilColumn && bars {
				line = append(line, Span{bar(i, gpus) + "  ", line[len(line)-1].Style})
			}
		}
		lines = append(lines, line)
	}
	if hidden := len(rows) - 1 - m.Offset - (len(lines) - 1); hidden > 0 && len(lines) > 1 {
		lines[len(lines)-1] = Line{{fmt.Sprintf("%d more below", hidden+1), Stale}}
	}
	return lines
}

// utilColumn and clockColumn are the places of the utilisation and of the clock in a Row.
const (
	utilColumn  = 2
	clockColumn = 6
)

// style is that of the cell in column j of the ith row; row 0 is the heading.
func (m Model) style(t Top, i, j int, gpus []GPU) Style {
	usedBy := len(Head) - 1
	switch {
	case i == 0:
		return Heading
	case j == usedBy && !gpus[i-1].Healthy:
		return Bad
	case j == usedBy && t.Users.Stale, j > 1 && j < usedBy && t.Readings.Stale:
		return Stale
	case j != utilColumn || gpus[i-1].Reading == nil || gpus[i-1].Reading.UtilizationPercent == nil:
		return Plain
	}
	percent := *gpus[i-1].Reading.UtilizationPercent
	switch {
	case percent >= 80:
		return High
	case percent >= 30:
		return Middle
	}
	return Low
}

// bar is the utilisation of the ith row as a bar; blank where it is missing.
func bar(i int, gpus []GPU) string {
	if i == 0 || gpus[i-1].Reading == nil || gpus[i-1].Reading.UtilizationPercent == nil {
		return strings.Repeat(" ", barWidth)
	}
	full := (*gpus[i-1].Reading.UtilizationPercent*barWidth + 50) / 100
	return strings.Repeat("#", full) + strings.Repeat(".", barWidth-full)
}

// queueLines are the first requests that wait.
func queueLines(queue []ps.Waiting) []Line {
	if len(queue) == 0 {
		return nil
	}
	const most = 5
	lines := []Line{nil}
	for i, q := range queue {
		if i == most {
			lines = append(lines, Line{{fmt.Sprintf("%d more in the queue (metax-ctk lease list)", len(queue)-most), Stale}})
			break
		}
		which := "any " + wording.Count(q.Count, "GPU")
		if len(q.GPUs) > 0 {
			which = "GPU " + wording.Ranges(q.GPUs)
		}
		place := "-"
		if q.Position > 0 {
			place = fmt.Sprint(q.Position)
		}
		lines = append(lines, Line{{fmt.Sprintf("queue %s: %s (%s) requests %s, for %s", place, q.ID, q.State, which,
			time.Duration(q.WaitedSeconds)*time.Second), Plain}})
	}
	return lines
}

var helpLines = []Line{
	{{"Keys", Heading}},
	{{"q, Ctrl-C    quit", Plain}},
	{{"s            sort by the next column: " + strings.Join(orderNames[:], ", "), Plain}},
	{{"p, space     pause and go on", Plain}},
	{{"up, down     scroll; also k and j", Plain}},
	{{"?, h         show and leave this help", Plain}},
	nil,
	{{"UTIL, TEMP (hottest place) and POWER (of the board) are readings of the vendor's library.", Plain}},
	{{"CLOCK is of the compute units, with the driver's reasons (bits) why it is lower than it could be.", Plain}},
	{{"LINKS is the number of MetaXLink ports that are up. \"-\" is not known. Grey is old.", Plain}},
}
