// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestOriginal(t *testing.T) {
	s, kept, etc := newTestStore(t)
	path := filepath.Join(etc, "docker", "daemon.json")
	recall(t, s, path, "unknown", "unknown")
	apply(t, s, first(path, gone, "1"))
	recall(t, s, path, gone, gone)
	apply(t, s, change(path, "1", "2"))
	recall(t, s, path, gone, gone)
	apply(t, s, last(path, "2", gone))
	recall(t, s, path, "unknown", "unknown") // the file has nothing of the toolkit
	empty(t, kept)
	// The next round begins with what is there then.
	write(t, path, "a")
	apply(t, s, first(path, "a", "b"))
	recall(t, s, path, "a", "a")
	// Somebody edits it, and later somebody else takes that out again.
	write(t, path, "edited")
	recall(t, s, path, "a", "unknown")
	write(t, path, "b")
	recall(t, s, path, "a", "a")
	// What somebody wrote is never undone, whatever we write after it.
	write(t, path, "edited")
	apply(t, s, change(path, "edited", "edited b"))
	recall(t, s, path, "a", "unknown")
	apply(t, s, change(path, "edited b", "edited c"))
	recall(t, s, path, "a", "unknown")
	// Somebody puts the original back by hand, and the next first change begins anew.
	write(t, path, "a")
	recall(t, s, path, "unknown", "unknown")
	write(t, path, "new")
	apply(t, s, first(path, "new", "b"))
	recall(t, s, path, "new", "new")
	holds(t, filepath.Join(kept, strings.ReplaceAll(path[1:], "/", "%2F"), "original"), "new")
	// The original of a file that already had our settings is unknown.
	other := filepath.Join(etc, "other")
	write(t, other, "ours")
	apply(t, s, change(other, "ours", "more of ours"))
	recall(t, s, other, "unknown", "unknown")
}
