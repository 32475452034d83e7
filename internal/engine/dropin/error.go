package dropin

import "fmt"

// OverriddenError reports a setting of the toolkit's that does not count, because
// a file that is read later says something else.
type OverriddenError struct {
	Key  string
	Own  string // the file that belongs to the toolkit
	Path string // the one that is read later
}

func (e *OverriddenError) Error() string {
	return fmt.Sprintf("%s sets %s and is read after %s, which would not count: take it out there, or give that file a name that sorts before", e.Path, e.Key, e.Own)
}

// NeededError reports a runtime that cannot be taken away, because a file that is
// not the toolkit's names it.
type NeededError struct {
	Runtime, Key, Path string
}

func (e *NeededError) Error() string {
	return fmt.Sprintf("%s sets %s = %q, and the engine would not find that runtime: change it there first", e.Path, e.Key, e.Runtime)
}
