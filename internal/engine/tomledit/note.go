package tomledit

import (
	"fmt"
)

// Note puts a comment line directly above a setting or table that stands on lines
// of its own, indented as it is. Delete takes it away again if the comment begins
// with engine.Marker.
func (d *Document) Note(comment string, path ...string) error {
	for _, e := range d.entries {
		if e.kind == inline || e.hidden || !hasPrefix(e.path, path) {
			continue
		}
		at := e.lines.start
		text := string(d.text[at:e.key.start]) + "# " + comment + d.newline
		return d.wrap(path, d.splice([]edit{{span{at, at}, text}}, d.tree))
	}
	return fmt.Errorf("note at %s: %w", Key(path...), ErrShape)
}
