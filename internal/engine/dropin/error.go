// SPDX-License-Identifier: Apache-2.0

package dropin

import "fmt"

// OverriddenError reports a setting of the toolkit's file that has no effect, because a
// file that the engine reads later overrides it.
type OverriddenError struct {
	Key  string
	Own  string // the file that belongs to the toolkit
	Path string // the one that is read later
}

func (e *OverriddenError) Error() string {
	return fmt.Sprintf(
		"%s sets %s and is read after %s, so its value would win: remove the setting there, or rename that file so that it sorts earlier", e.Path, e.Key, e.Own)
}

// NeededError reports a runtime that cannot be removed, because another file names it.
type NeededError struct {
	Runtime, Key, Path string
}

func (e *NeededError) Error() string {
	return fmt.Sprintf("%s sets %s = %q, and the engine would no longer find that runtime: change that setting first",
		e.Path, e.Key, e.Runtime)
}
