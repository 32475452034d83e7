package terminal

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table returns rows as a table; the first row is the head. Cells are as in Line, and empty
// ones become "-".
func Table(rows [][]string) string {
	var text strings.Builder
	tw := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = Line(cell); cell == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	tw.Flush() // a Builder takes everything
	return text.String()
}
