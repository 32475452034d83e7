package registry

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotJSON reports a spec that is not plain JSON, where nothing else can be
// read (Registry.Read).
var ErrNotJSON = errors.New("not plain JSON, which is all that can be read here")

// Fault is a spec file, or a spec directory, that cannot be used.
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
	// Faults are the files that cannot be used, and so might have defined them.
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
		fmt.Fprintf(&s, "; %s cannot be used: %v", f.Path, f.Err)
	}
	return s.String()
}
