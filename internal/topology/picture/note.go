// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/svg"
)

// The measures of a note in a picture.
const (
	noteSize = 11
	noteLine = 16
)

// writeNote draws the note below the picture, from y on, and returns the y where it ends.
func (s *checkedView) writeNote(c *canvas, width, y int) int {
	if len(s.note) == 0 {
		return y
	}
	const cell = noteSize * 63 / 100. // as in textWidth
	y += 12
	c.Open(fmt.Sprintf(`font-family="%s" font-size="%d"`, svg.Mono, noteSize))
	for _, line := range s.note {
		for _, part := range wrap(line, int(float64(width-2*margin)/cell)) {
			y += noteLine
			for _, w := range columnsOf(part) {
				c.Text(margin+int(float64(w.at)*cell), y, "", w.text)
			}
		}
	}
	c.Close()
	return y
}

// addNote adds the note to a picture in text.
func (s *checkedView) addNote(b *bytes.Buffer) {
	if len(s.note) > 0 {
		b.WriteString("\n" + strings.Join(s.note, "\n") + "\n")
	}
}

// word is a part of a line, and the column in which it begins.
type word struct {
	at   int
	text string
}

// columnsOf splits a line at two or more spaces: a column in text stays a column in a
// picture, whatever the width of its letters.
func columnsOf(line string) (words []word) {
	at := 0
	for part := range strings.SplitSeq(line, "  ") {
		lead := len(part) - len(strings.TrimLeft(part, " "))
		if text := strings.TrimSpace(part); text != "" {
			words = append(words, word{at + lead, text})
		}
		at += len([]rune(part)) + 2
	}
	return words
}

// wrap splits a line into parts of at most room characters, between words where possible;
// later parts have the indent of the line.
func wrap(line string, room int) (parts []string) {
	left := []rune(line)
	in := 0
	for in < len(left) && in < room/2 && left[in] == ' ' {
		in++
	}
	for len(left) > max(room, 2) {
		at := max(room, 2)
		for i := at; i > in; i-- {
			if left[i] == ' ' {
				at = i
				break
			}
		}
		parts = append(parts, strings.TrimRight(string(left[:at]), " "))
		left = []rune(strings.Repeat(" ", in) + strings.TrimLeft(string(left[at:]), " "))
	}
	return append(parts, string(left))
}
