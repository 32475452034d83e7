// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Table returns rows as a table; the first row is the head. Cells are as in Line, and empty
// ones become "-".
func Table(rows [][]string) string {
	var text strings.Builder
	tw := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Line(cell)
			if cell == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	tw.Flush() // a Builder takes everything
	return text.String()
}

// cutTo is how short a cell may get in a table that is too wide.
const cutTo = 12

// Fit is Table for a terminal of that many columns, 0 for any: first the longest cells are
// cut, then the lines, with a mark.
func Fit(rows [][]string, width int) string {
	text := Table(rows)
	if width <= 0 {
		return text
	}
	for most := longestCell(rows); widestLine(text) > width && most > cutTo; {
		most = max(most-1, cutTo)
		short := make([][]string, len(rows))
		for i, row := range rows {
			for _, cell := range row {
				short[i] = append(short[i], Cut(Line(cell), most))
			}
		}
		text = Table(short)
	}
	var fit strings.Builder
	for line := range strings.Lines(text) {
		fit.WriteString(Cut(strings.TrimSuffix(line, "\n"), width) + "\n")
	}
	return fit.String()
}

// Cut returns a text in that many columns, with a mark if some of it is left out.
func Cut(text string, columns int) string {
	if utf8.RuneCountInString(text) <= columns {
		return text
	}
	return string([]rune(text)[:max(columns-1, 0)]) + "…"
}

func longestCell(rows [][]string) (most int) {
	for _, row := range rows {
		for _, cell := range row {
			most = max(most, utf8.RuneCountInString(cell))
		}
	}
	return most
}

func widestLine(text string) (most int) {
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(line)-1)
	}
	return most
}
