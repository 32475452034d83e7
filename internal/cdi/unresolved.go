// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"fmt"
	"strings"
)

// UnresolvedError reports device names that engines would not resolve either.
type UnresolvedError struct {
	// Names are the qualified names, in the order of the request.
	Names []string
	// Dirs are the directories that were searched.
	Dirs []string
	// Faults are the files that cannot be read, and so might have defined them.
	Faults []File
	// Conflicts are the files that define a name, by the name, where two of them are
	// in one directory.
	Conflicts map[string][]string
}

// Error is one line.
func (e *UnresolvedError) Error() string {
	var s strings.Builder
	s.WriteString("no CDI device ")
	for i, name := range e.Names {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%.80q", name)
		if paths := e.Conflicts[name]; paths != nil {
			fmt.Fprintf(&s, " (%s define it)", strings.Join(paths, " and "))
		}
	}
	fmt.Fprintf(&s, " in %s (metax-ctk cdi list shows what there is)", strings.Join(e.Dirs, ", "))
	for _, f := range e.Faults {
		fmt.Fprintf(&s, "; %s cannot be read: %s", f.Path, f.Error)
	}
	return s.String()
}
