// SPDX-License-Identifier: Apache-2.0

package link

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/hook/inroot"
)

// TestMakeAndMakeIfAbsent has paths where something exists already. test/exploits has
// mounts and hostile images.
func TestMakeAndMakeIfAbsent(t *testing.T) {
	type result struct {
		changed bool
		err     error
		target  string // where it leads in the end; "" for no link
	}
	for name, c := range map[string]struct {
		there       string // "-" nothing, "file", or a link's target
		make, offer result
	}{
		"nothing":   {"-", result{true, nil, "new"}, result{true, nil, "new"}},
		"the same":  {"new", result{false, nil, "new"}, result{false, nil, "new"}},
		"a link":    {"old", result{true, nil, "new"}, result{false, fs.ErrExist, "old"}},
		"a rival's": {"/a/b/old", result{true, nil, "new"}, result{false, fs.ErrExist, "/a/b/old"}}, // but on no mount
		"a file":    {"file", result{false, inroot.ErrNotLink, ""}, result{false, fs.ErrExist, ""}},
	} {
		for how, f := range map[string]func(Link, *inroot.Root) (bool, error){"make": Link.Make, "offer": Link.MakeIfAbsent} {
			t.Run(name+", "+how, func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "a/b/l")
				var err error
				switch c.there {
				case "-":
				case "file":
					err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644))
				default:
					err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(c.there, path))
				}
				if err != nil {
					t.Fatal(err)
				}
				root, err := inroot.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer root.Close()
				want := c.make
				if how == "offer" {
					want = c.offer
				}
				changed, err := f(Link{Target: "new", Path: "/a/b/l"}, root)
				if changed != want.changed || !errors.Is(err, want.err) || (err == nil) != (want.err == nil) {
					t.Errorf("%v, %v, want %+v", changed, err, want)
				}
				if target, _ := os.Readlink(path); target != want.target {
					t.Errorf("it leads to %q, want %q", target, want.target)
				}
			})
		}
	}
}
