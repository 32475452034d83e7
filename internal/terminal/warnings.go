// SPDX-License-Identifier: Apache-2.0

package terminal

import "fmt"

// maxWarnings is the number of warnings that a command prints.
const maxWarnings = 3

// Warnings limits how many warnings stand before the output of a command: the first ones are
// printed, the others are counted. The zero value is ready to use.
type Warnings struct {
	All     bool // print all
	printed int
	left    int
}

// Admit reports whether the next warning is to be printed.
func (w *Warnings) Admit() bool {
	if w.All || w.printed < maxWarnings {
		w.printed++
		return true
	}
	w.left++
	return false
}

// Rest returns a line that counts the warnings that were not printed and says how to see
// them; empty if all were printed, and after the first call.
func (w *Warnings) Rest(how string) string {
	left := w.left
	switch w.left = 0; left {
	case 0:
		return ""
	case 1:
		return "… and 1 more warning: " + how
	}
	return fmt.Sprintf("… and %d more warnings: %s", left, how)
}
