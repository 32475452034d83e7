// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/metax-ctk/container-toolkit/internal/lazyregexp"
)

// column is the start of the last column of a line, or its indentation.
var column = lazyregexp.New(`^(.*\S {2,}| *)`)

// Wrap breaks lines between words so that they fit a terminal of that many columns, 0 for any.
// What follows stands below the last column of the line, or where the line begins if there is
// no room.
func Wrap(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		row := strings.TrimSuffix(line, "\n")
		indent := utf8.RuneCountInString(column().FindString(row))
		if width <= 0 || indent > width/2 {
			indent = len(row) - len(strings.TrimLeft(row, " "))
		}
		for width > 0 && utf8.RuneCountInString(row) > width {
			head := string([]rune(row)[:width+1])
			at := strings.LastIndex(head, " ")
			if strings.TrimSpace(head[:max(at, 0)]) == "" || utf8.RuneCountInString(head[:at]) <= indent {
				break // one long word
			}
			out.WriteString(strings.TrimRight(row[:at], " ") + "\n")
			row = strings.Repeat(" ", indent) + strings.TrimLeft(row[at:], " ")
		}
		out.WriteString(row + line[len(strings.TrimSuffix(line, "\n")):])
	}
	return out.String()
}
