// SPDX-License-Identifier: Apache-2.0

package hookfile_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
	"github.com/metax-ctk/container-toolkit/internal/engine/hookfile"
	"github.com/metax-ctk/container-toolkit/internal/jsontree"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestText compares Text with the files that the package installs.
func TestText(t *testing.T) {
	for _, stage := range []hookfile.Stage{hookfile.Precreate, hookfile.Prestart} {
		want := testfile.Text(t, "../../../packaging/hooks.d/"+stage.Name())
		if d := cmp.Diff(want, string(hookfile.Text(stage, "/usr/bin/metax-hook"))); d != "" {
			t.Errorf("%s: %s", stage, d)
		}
	}
	odd := hookfile.Text(hookfile.Prestart, "/opt/\"a b\"\n/metax-hook")
	tree, err := jsontree.Parse(odd)
	if err != nil || tree.Root().At("hook", "path").Text() != "/opt/\"a b\"\n/metax-hook" || !hookfile.Ours(odd) {
		t.Errorf("%v: %s", err, odd)
	}
}

func TestPut(t *testing.T) {
	older := `{"hook": {"path": "/usr/local/bin/metax-hook"}, "stages": ["prestart"]}`
	for name, tc := range map[string]struct {
		have, want string
		changes    int
		foreign    bool
	}{
		"made":          {"", "new", 1, false},
		"there already": {older, older, 0, false},
		"older":         {older, "new", 1, false},
		"taken away":    {older, "", 1, false},
		"never there":   {"", "", 0, false},
		"foreign":       {`{"hook": {"path": "/usr/bin/nvidia-hook"}}`, "new", 0, true},
		"no JSON":       {"{", "new", 0, true},
		"foreign stays": {"{}", "", 0, false},
	} {
		f := dropin.File{Path: "/d/x.json"}
		var want []byte
		if tc.have != "" {
			f.Text = []byte(tc.have)
		}
		if tc.want != "" {
			want = []byte(tc.want)
		}
		changes, err := hookfile.Put(f, want)
		if len(changes) != tc.changes || errors.Is(err, engine.ErrForeign) != tc.foreign || err != nil && !tc.foreign {
			t.Errorf("%s: %v, %v", name, changes, err)
		}
		for _, c := range changes {
			if d := cmp.Diff(engine.Change{Path: "/d/x.json", Before: f.Text, After: want, Mode: 0o644}, c); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		}
	}
}
