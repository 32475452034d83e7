// SPDX-License-Identifier: Apache-2.0

package dropin_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/engine/dropin"
)

func chain(t *testing.T, texts ...string) dropin.Chain {
	t.Helper()
	var files []dropin.File
	for i, text := range texts {
		files = append(files, dropin.File{Path: string(rune('a' + i)), Text: []byte(text)})
	}
	files = append(files, dropin.File{Path: "none"})
	c, err := dropin.Read(files...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestChain(t *testing.T) {
	c := chain(t, "x.name = 'one'\nx.list = ['1']\n[x.t]\na = 1\n", "[x]\nname = 'two'\n[x.t]\nb = 2\n[x.u]\n", "")
	name, err := c.Text("x", "name")
	if want := (dropin.Setting[string]{Value: "two", Path: "b"}); err != nil || name != want {
		t.Errorf("%+v, %v", name, err)
	}
	table, err := c.Table("x", "t")
	if d := cmp.Diff(dropin.Setting[map[string]any]{Value: map[string]any{"b": int64(2)}, Path: "b"}, table); err != nil || d != "" {
		t.Errorf("a table is not replaced as a whole: %v\n%s", err, d)
	}
	if d := cmp.Diff([]string{"list", "name", "t", "u"}, c.Names("x")); d != "" {
		t.Error(d)
	}
	if name, err := c.Without("b").Text("x", "name"); err != nil || name.Value != "one" {
		t.Errorf("%+v, %v", name, err)
	}
	if none, err := c.Text("x", "none"); err != nil || none.Set() {
		t.Errorf("%+v, %v", none, err)
	}
}

// TestList has lists that Podman 5.8 reads this way.
func TestList(t *testing.T) {
	for _, tc := range []struct {
		texts   []string
		want    []string
		path    string
		appends bool
	}{
		{nil, nil, "", false},
		{[]string{"l=['1']", "", "l=['2','3']"}, []string{"2", "3"}, "c", false},
		{[]string{"l=['1']", "l=['2',{append=true}]"}, []string{"1", "2"}, "b", true},
		{[]string{"l=['1',{append=true}]", "l=['2']", "l=['3',{append=false}]", "l=['4']"}, []string{"4"}, "d", false},
		{[]string{"l=['1',{append=true}]", "l=['2']", "l=[]"}, []string{"1", "2"}, "c", true},
		{[]string{"l=['1']", "l=[]"}, []string{}, "b", false},
	} {
		c := chain(t, tc.texts...)
		got, err := c.List("l")
		if d := cmp.Diff(dropin.Setting[[]string]{Value: tc.want, Path: tc.path}, got); err != nil || d != "" {
			t.Errorf("%q: %v\n%s", tc.texts, err, d)
		}
		if c.Appends("l") != tc.appends {
			t.Errorf("%q: appends is not %v", tc.texts, tc.appends)
		}
	}
	alone, err := chain(t, "l=['1',{append=true}]", "l=['2']").LastList("l")
	if d := cmp.Diff(dropin.Setting[[]string]{Value: []string{"2"}, Path: "b"}, alone); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}

func TestKindErrors(t *testing.T) {
	for text, want := range map[string]string{
		"\n  l = 3":             "read a: line 2, column 3: l is not a list of strings",
		"l = [3]":               "read a: line 1, column 1: l is not a list of strings",
		"l = [{append = 1}]":    "read a: line 1, column 1: l is not a list of strings",
		"l = [{a=1}]":           "read a: line 1, column 1: l is not a list of strings",
		"l = ['a', {a=true}]":   "read a: line 1, column 1: l is not a list of strings",
		"l = [{append=true},3]": "read a: line 1, column 1: l is not a list of strings",
	} {
		_, err := chain(t, text).List("l")
		var syntax *engine.SyntaxError
		if err == nil || err.Error() != want || !errors.As(err, &syntax) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := chain(t, "l = 3").Text("l"); err == nil || !strings.Contains(err.Error(), "l is not a string") {
		t.Error(err)
	}
	_, err := dropin.Read(dropin.File{Path: "/x", Text: []byte("a\n")})
	var syntax *engine.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 1 || !strings.HasPrefix(err.Error(), "read /x: line 1, column ") {
		t.Error(err)
	}
}

func TestInOrder(t *testing.T) {
	var files []dropin.File
	want := []string{"/d/10-a.conf", "/d/b/z", "/d/b-c", "/d/b.conf", "/d/c"}
	for _, path := range []string{want[3], want[1], want[4], want[0], want[2]} {
		files = append(files, dropin.File{Path: path})
	}
	var got []string
	for _, f := range dropin.InOrder(files) {
		got = append(got, f.Path)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestMerge(t *testing.T) {
	for _, tc := range []struct{ have, want, merged []string }{
		{nil, []string{"/a", "/b"}, []string{"/a", "/b"}},
		{[]string{"/etc/cdi"}, []string{"/etc/cdi", "/var/run/cdi"}, []string{"/etc/cdi", "/var/run/cdi"}},
		{[]string{"/x", "/var/run/cdi"}, []string{"/etc/cdi", "/run/cdi"}, []string{"/x", "/etc/cdi", "/var/run/cdi"}},
		{[]string{"/x", "/c"}, []string{"/a", "/b", "/c", "/d"}, []string{"/x", "/a", "/b", "/c", "/d"}},
		{[]string{"/b/", "/a"}, []string{"/a", "/b"}, []string{"/b/", "/a"}},
	} {
		if d := cmp.Diff(tc.merged, dropin.Merge(tc.have, tc.want)); d != "" {
			t.Errorf("%q and %q: %s", tc.have, tc.want, d)
		}
		if missing := dropin.Missing(dropin.Merge(tc.have, tc.want), tc.want); len(missing) > 0 {
			t.Errorf("%q and %q: %q is missing", tc.have, tc.want, missing)
		}
	}
}

func own(text string) dropin.Own {
	return dropin.Own{File: dropin.File{Path: "/d/99-metax.conf", Text: []byte(text)}, Engine: "crio"}
}

const header = "# " + engine.Marker + "\n"

func TestAdd(t *testing.T) {
	tree := map[string]any{"x": map[string]any{"a": "1", "l": []string{"p", "q"}, "t": map[string]any{"b": true}}}
	for text, want := range map[string]string{
		header: header + "\n[x]\na = \"1\"\nl = [\"p\", \"q\"]\n\n[x.t]\nb = true\n",
		header + "[x] # theirs\na='1'\nz = 1\n[x.t]\nb=false\n": header + "[x] # theirs\na='1'\nz = 1\nl = [\"p\", \"q\"]\n[x.t]\nb=true\n",
		header + "x = {a=\"1\", l=['p','q'], t={b=true}}":       header + "x = {a=\"1\", l=['p','q'], t={b=true}}",
	} {
		got, err := own(text).Add(tree)
		if d := cmp.Diff(want, string(got)); err != nil || d != "" {
			t.Errorf("%q: %v\n%s", text, err, d)
		}
	}
	for _, text := range []string{"", "\n" + header, "#" + engine.Marker, "x=1", "# by hand\n" + header} {
		if _, err := own(text).Add(tree); !errors.Is(err, engine.ErrForeign) {
			t.Errorf("%q: %v, want ErrForeign", text, err)
		}
	}
	if got, err := (dropin.Own{}).Add(nil); got != nil || err != nil {
		t.Errorf("nothing is wanted: %q, %v", got, err)
	}
}

func TestRemove(t *testing.T) {
	paths := [][]string{{"x", "a"}, {"x", "t"}, {"none"}}
	for text, want := range map[string]string{
		header + "[x]\na=1\nb=2\n[x.t]\nc=1\n":           header + "[x]\nb=2\n",
		header + "\n[x]\n# why\nb=2\na=1\n":              header + "\n[x]\n# why\nb=2\n",
		header + "[x]\na=1\n[x.t]\n[y]\n[y.z]\n":         "",
		header:                                           "",
		"# by hand\nx.a=1\n":                             "# by hand\nx.a=1\n",
		"# Written by somebody\nx.a=1\n[x.t]\nc=1":       "# Written by somebody\nx.a=1\n[x.t]\nc=1",
		"\xef\xbb\xbf" + header + "\r\nx.a=1\r\ny=1\r\n": "\xef\xbb\xbf" + header + "\r\ny=1\r\n",
	} {
		got, err := own(text).Remove(paths...)
		if d := cmp.Diff(want, string(got)); err != nil || d != "" || (want == "") != (got == nil) {
			t.Errorf("%q: %v\n%s", text, err, d)
		}
	}
}
