package topology

import (
	"bytes"
	"fmt"
	"strings"
)

// The measures of a note in a picture.
const (
	noteSize = 11
	noteLine = 16
)

// writeNote sets the note below the picture, from y on; it returns the y where it
// ends.
func (s *scene) writeNote(c *canvas, width, y int) int {
	if len(s.note) == 0 {
		return y
	}
	room := (width - 2*margin) / textWidth("m", 100) * 100 / noteSize
	y += 12
	c.open(fmt.Sprintf(`font-family="%s" font-size="%d" style="white-space:pre"`, mono, noteSize))
	for _, line := range s.note {
		for _, part := range wrap(line, room) {
			y += noteLine
			c.text(margin, y, "", part)
		}
	}
	c.close()
	return y
}

// note adds the note to a picture in text.
func (s *scene) addNote(b *bytes.Buffer) {
	if len(s.note) > 0 {
		b.WriteString("\n" + strings.Join(s.note, "\n") + "\n")
	}
}

// wrap cuts a line into parts of at most so many cells, between words where it
// can; what is cut off begins as far in as the line.
func wrap(line string, room int) (parts []string) {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	for cells(line) > room {
		at := strings.LastIndexByte(line[:min(room, len(line))], ' ')
		if at <= len(indent) {
			at = min(room, len(line))
		}
		parts = append(parts, line[:at])
		line = indent + strings.TrimLeft(line[at:], " ")
	}
	return append(parts, line)
}
