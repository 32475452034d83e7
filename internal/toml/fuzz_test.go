// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzEdit: an edit is done completely or not at all, makes the requested change and no
// other, and if it adds something, can be undone to the same bytes.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{
		"", "\ufeffa = 1\r\n", "[a]\nb = 1\n\n# c\n[a.c]\nx = ['y']\n", "a.b = { c = 1 }\nd = [\n 'x', # y\n]",
		"[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 1\n", "a = '''\n[a]\n'''\n", "[a.b.c]\n[a]\nx = nan\n",
	} {
		for _, path := range []string{"a", "a.b", "a.c.d", "d", "x.y.z"} {
			f.Add(text, path)
		}
	}
	f.Fuzz(func(t *testing.T, text, dotted string) {
		d, err := Parse([]byte(text))
		if err != nil {
			return
		}
		path := strings.Split(dotted, ".")
		old, had := d.Get(path...)
		before := d.Tree()
		for _, value := range []any{"v", []string{"x", "y"}, map[string]any{"k": true, "t": map[string]any{"u": 1}}} {
			d, _ := Parse([]byte(text))
			if _, table := value.(map[string]any); table && had {
				continue
			}
			if err := d.Set(value, path...); err != nil {
				if string(d.Bytes()) != text {
					t.Fatalf("refused, and yet %q became %q", text, d.Bytes())
				}
				continue
			}
			if got, ok := d.Get(path...); !ok || cmp.Diff(normalized(value), got) != "" {
				t.Fatalf("%q: got %v, want %v", d.Bytes(), got, value)
			}
			if had {
				err = d.Set(old, path...)
			} else {
				err = d.Delete(path...)
			}
			if err != nil {
				t.Fatalf("%q: take back: %v", d.Bytes(), err)
			}
			if !sameContent(before, d.Tree()) {
				t.Fatalf("%q became %q", text, d.Bytes())
			}
		}
		d, _ = Parse([]byte(text))
		if err := d.Append("new element", path...); err == nil && had {
			if err := d.Drop("new element", path...); err != nil || string(d.Bytes()) != text {
				t.Fatalf("%q became %q: %v", text, d.Bytes(), err)
			}
		}
		if d, _ = Parse([]byte(text)); d.Delete(path...) == nil {
			if got, there := d.Get(path...); there {
				t.Fatalf("%q: %v is still there", d.Bytes(), got)
			}
		}
		if back, err := Parse(Render(before)); err != nil || !sameContent(before, back.tree) {
			t.Fatalf("%q rendered is %q: %v", text, Render(before), err)
		}
	})
}
