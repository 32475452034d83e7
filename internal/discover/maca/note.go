// SPDX-License-Identifier: Apache-2.0

package maca

import (
	"fmt"
)

// maxNotes is how many notes of a kind are kept; thousands of files in a directory may
// have the same defect.
const maxNotes = 20

// note is a defect, with its kind (Problem.Kind).
type note struct{ kind, text string }

// notes collects defects, and counts those beyond maxNotes.
type notes struct {
	list  []note
	count map[string]int
}

func (n *notes) addNote(kind, format string, a ...any) {
	if n.count == nil {
		n.count = map[string]int{}
	}
	if n.count[kind]++; n.count[kind] <= maxNotes {
		n.list = append(n.list, note{kind, fmt.Sprintf(format, a...)})
	}
}

// limitedNotes returns the notes in their order; the last of a kind with too many says
// how many more there are.
func (n *notes) limitedNotes() []note {
	var all []note
	seen := map[string]int{}
	for _, x := range n.list {
		all = append(all, x)
		if seen[x.kind]++; seen[x.kind] == maxNotes && n.count[x.kind] > maxNotes {
			all = append(all, note{x.kind, fmt.Sprintf("and %d more of this kind", n.count[x.kind]-maxNotes)})
		}
	}
	return all
}

// asWarnings are all notes as warnings.
func (n *notes) asWarnings() []string {
	var texts []string
	for _, x := range n.limitedNotes() {
		texts = append(texts, x.text)
	}
	return texts
}
