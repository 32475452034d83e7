package maca

import (
	"fmt"
)

// maxNotes is how many notes of a kind are kept; a directory may hold thousands of
// files that are all wrong in the same way.
const maxNotes = 20

// note is something wrong, of a kind.
type note struct{ kind, text string }

// notes collects what is wrong, and counts what is too much to list.
type notes struct {
	list  []note
	count map[string]int
}

func (n *notes) note(kind, format string, a ...any) {
	if n.count == nil {
		n.count = map[string]int{}
	}
	if n.count[kind]++; n.count[kind] <= maxNotes {
		n.list = append(n.list, note{kind, fmt.Sprintf(format, a...)})
	}
}

// all returns the notes in their order; kinds with too many end in how many more.
func (n *notes) all() []note {
	var all []note
	seen := map[string]int{}
	for _, x := range n.list {
		all = append(all, x)
		if seen[x.kind]++; seen[x.kind] == maxNotes && n.count[x.kind] > maxNotes {
			all = append(all, note{x.kind, fmt.Sprintf("and %d more like the last", n.count[x.kind]-maxNotes)})
		}
	}
	return all
}

// texts are all notes as warnings.
func (n *notes) texts() []string {
	var texts []string
	for _, x := range n.all() {
		texts = append(texts, x.text)
	}
	return texts
}
