package registry

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotJSON reports a spec that cannot be read here: another notation, which would
// take a parser that makes every start longer, or one that engines reject.
var ErrNotJSON = errors.New("not a valid spec in plain JSON, which is all that is read at a start (metax-ctk cdi check FILE says more; metax-ctk cdi generate writes JSON)")

// Fault is a spec file, or a spec directory, that cannot be read.
type Fault struct {
	Path string
	Err  error
}

// UnresolvedError reports device names that engines would not resolve either.
type UnresolvedError struct {
	// Names are the qualified names, in the order of the request.
	Names []string
	// Dirs are the directories that were searched.
	Dirs []string
	// Faults are the files that cannot be read, and so might have defined them.
	Faults []Fault
	// Conflicts are, for a name that two files of one directory define, these
	// files.
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
			fmt.Fprintf(&s, " (both %s define it)", strings.Join(paths, " and "))
		}
	}
	fmt.Fprintf(&s, " in %s (metax-ctk cdi list shows what there is)", strings.Join(e.Dirs, ", "))
	for _, f := range e.Faults {
		fmt.Fprintf(&s, "; %s cannot be read: %v", f.Path, f.Err)
	}
	return s.String()
}
