// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestDanger is what check and doctor say of files whose contents may be as they
// should be.
func TestDanger(t *testing.T) {
	const (
		fix   = " and so decide what containers get; chown root and chmod go-w"
		panic = " has a vendor or class of one letter: Docker with CDI up to 29.7 and every engine with the CDI library before 1.1.1 panic on it"
	)
	for name, tc := range map[string]struct {
		kind      string
		dir, file os.FileMode
		want      []Problem
	}{
		"as it should be": {"m.org/gpu", 0o755, 0o644, nil},
		"a file for everybody": {"m.org/gpu", 0o755, 0o666, []Problem{
			{CodeWritable, "/etc/cdi/a.json", nil, "group or others may write to it (mode 0666)" + fix, false},
		}},
		"a file for a group": {"m.org/gpu", 0o755, 0o664, []Problem{
			{CodeWritable, "/etc/cdi/a.json", nil, "group or others may write to it (mode 0664)" + fix, false},
		}},
		"a directory for everybody": {"m.org/gpu", 0o777, 0o644, []Problem{
			{CodeWritable, "/etc/cdi", nil, "group or others may write to it (mode 0777)" + fix, false},
		}},
		"one letter of vendor": {"m/gpu", 0o755, 0o644, []Problem{{CodeName, "/etc/cdi/a.json", nil, `kind "m/gpu"` + panic, false}}},
		"one letter of class":  {"m.org/g", 0o755, 0o644, []Problem{{CodeName, "/etc/cdi/a.json", nil, `kind "m.org/g"` + panic, false}}},
		"two letters":          {"mm/gg", 0o755, 0o644, nil},
		"both": {"m/g", 0o755, 0o646, []Problem{
			{CodeWritable, "/etc/cdi/a.json", nil, "group or others may write to it (mode 0646)" + fix, false},
			{CodeName, "/etc/cdi/a.json", nil, `kind "m/g"` + panic, false},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			host := simtest.Root(t, dir)
			file := filepath.Join(dir, "etc/cdi/a.json")
			put(t, file, small(tc.kind, "0"), 0o644)
			for path, mode := range map[string]os.FileMode{file: tc.file, filepath.Dir(file): tc.dir} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, Danger(host, "/etc/cdi/a.json")); diff != "" {
				t.Errorf("the file (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, List(host, Dirs(), "").Problems()); diff != "" {
				t.Errorf("the directory (-want +got):\n%s", diff)
			}
		})
	}
}
