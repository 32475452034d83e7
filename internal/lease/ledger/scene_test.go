// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"path/filepath"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/faults"
)

// adding is a child that adds the lease "b" to the ledger in dir.
func adding(dir string) faults.Child {
	return faults.Child{Path: "/proc/self/exe", Args: []string{"child", dir, "b"}, Env: []string{childVariable + "=traced"}}
}

// scene is a directory to be updated.
type scene struct {
	name string
	// before makes the directory, after checks what an Update left of what was there.
	before, after func(t *testing.T, dir string)
	damaged       bool // the state is lost before
}

var scenes = []scene{
	{name: "one more lease", before: func(t *testing.T, dir string) { begin(t, dir) }},
	{
		name: "after a writer that was killed",
		before: func(t *testing.T, dir string) {
			begin(t, dir)
			put(t, filepath.Join(dir, ".leases.json.1.tmp"), "{")
			put(t, filepath.Join(dir, ".leases.json.2.tmp"), "{")
		},
	},
	{
		name: "damaged",
		before: func(t *testing.T, dir string) {
			begin(t, dir)
			put(t, filepath.Join(dir, "leases.json"), "garbage")
			put(t, filepath.Join(dir, "leases.json.damaged"), "garbage of before")
		},
		after: func(t *testing.T, dir string) {
			if got := text(t, filepath.Join(dir, "leases.json.damaged")); got != "garbage" {
				t.Errorf("kept %q", got)
			}
		},
		damaged: true,
	},
	{name: "nothing there", before: func(*testing.T, string) {}},
}
