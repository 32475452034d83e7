// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// marker begins comments of the toolkit.
const marker = "Written by metax-ctk"

func TestSet(t *testing.T) {
	runc := map[string]any{"runtime_type": "v2", "options": map[string]any{"SystemdCgroup": true}}
	for _, tc := range []struct {
		name, text string
		path       []string
		value      any
		want       string
	}{
		{"empty", "", []string{"a"}, 1, "a = 1\n"},
		{"bom", "\ufeff", []string{"a"}, 1, "\ufeffa = 1\n"},
		{"bom and no newline", "\ufeffb = 1", []string{"a"}, 1, "\ufeffb = 1\na = 1"},
		{"three bytes", "b=1", []string{"a"}, 1, "b=1\na = 1"},
		{"replace", "a = 1 # one\n", []string{"a"}, 2, "a = 2 # one\n"},
		{"replace a list of lines", "a = [\n 1, # one\n]\nb = 2\n", []string{"a"}, []string{"x"}, "a = [\"x\"]\nb = 2\n"},
		{"replace inline", "a = { b = 'x', c = 1 }\n", []string{"a", "b"}, "y", "a = { b = \"y\", c = 1 }\n"},
		{"replace dotted", "a.\"b\".c = 1\n", []string{"a", "b", "c"}, true, "a.\"b\".c = true\n"},
		{"before the first table", "a = 1\n\n# of b\n[b]\nc = 1\n", []string{"d"}, 2, "a = 1\nd = 2\n\n# of b\n[b]\nc = 1\n"},
		{"preamble", "# a file\n\n# of b\n[b]\n", []string{"d"}, 2, "# a file\n\nd = 2\n# of b\n[b]\n"},
		{"comment of a table", "# of b\n[b]\n", []string{"d"}, 2, "d = 2\n# of b\n[b]\n"},
		{"into a table", "[a]\n  b = 1\n\n[c]\n", []string{"a", "d"}, 2, "[a]\n  b = 1\n  d = 2\n\n[c]\n"},
		{"into an empty table", "[a]\n\tb = 1\n\n  [c]\n", []string{"c", "d"}, 2, "[a]\n\tb = 1\n\n  [c]\n  \td = 2\n"},
		{"crlf", "[a]\r\nb = 1\r\n", []string{"a", "c"}, 2, "[a]\r\nb = 1\r\nc = 2\r\n"},
		{"crlf table", "[a]\r\nb = 1\r\n", []string{"a", "c", "d"}, 2, "[a]\r\nb = 1\r\n\r\n[a.c]\r\nd = 2\r\n"},
		{"inline", "a = { b = 1 }\n", []string{"a", "c", "d"}, 2, "a = { b = 1, c.d = 2 }\n"},
		{"empty inline", "a = {}\n", []string{"a", "c"}, 2, "a = { c = 2 }\n"},
		{"dotted", "[x]\na.b.c = 1\nd = 2\n", []string{"x", "a", "b", "e"}, 2, "[x]\na.b.c = 1\na.b.e = 2\nd = 2\n"},
		{"below dotted", "a.b = 1\n", []string{"a", "x", "y"}, 2, "a.b = 1\na.x.y = 2\n"},
		{
			"table", "[p]\n[p.r]\nx = 1\n# y = 2\n\n[q]\n",
			[]string{"p", "r", "m"},
			runc,
			"[p]\n[p.r]\nx = 1\n# y = 2\n\n[p.r.m]\nruntime_type = \"v2\"\n\n[p.r.m.options]\nSystemdCgroup = true\n\n[q]\n",
		},
		{"table before a comment", "[p]\nx = 1\n# of q\n[q]\n", []string{"p", "m"}, map[string]any{"y": 1}, "[p]\nx = 1\n\n[p.m]\ny = 1\n# of q\n[q]\n"},
		{"empty table", "a = 1", []string{"b"}, map[string]any{}, "a = 1\n\n[b]"},
		{"table indented", "[p]\n  [p.a]\n    x = 1\n", []string{"p", "b"}, map[string]any{"y": 1}, "[p]\n  [p.a]\n    x = 1\n\n  [p.b]\n    y = 1\n"},
		{"header of an implied table", "[a.b]\nx = 1\n", []string{"a", "y"}, 1, "[a.b]\nx = 1\n\n[a]\ny = 1\n"},
		{"quoted", "[plugins.'io.x']\nx = 1\n", []string{"plugins", "io.x", "a b"}, "\"\\\t\x01é", "[plugins.'io.x']\nx = 1\n\"a b\" = \"\\\"\\\\\\t\\u0001é\"\n"},
		{"text like a header", "a = '''\n[b]\n'''\n[b]\nx = 1\n", []string{"b", "y"}, 1, "a = '''\n[b]\n'''\n[b]\nx = 1\ny = 1\n"},
		{"beside an array of tables", "[[s.r]]\nx = 1\n\n[[s.r]]\nx = 2\n", []string{"s", "y"}, 1, "[[s.r]]\nx = 1\n\n[[s.r]]\nx = 2\n\n[s]\ny = 1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := parse(t, tc.text)
			if err := d.Set(tc.value, tc.path...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(d.Bytes())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		path       []string
		want       string
	}{
		{"a table", "[a.b]\n", []string{"a", "b"}, "set a.b: it is a table"},
		{"through a value", "a = 1\n", []string{"a", "b"}, "set a.b: a is not a table"},
		{"through an array of tables", "[[a]]\nb = 1\n", []string{"a", "b"}, "set a.b: a is not a table"},
		{"an array of tables", "[[a]]\nb = 1\n", []string{"a"}, "set a: it is written in a form that cannot be edited in place"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := parse(t, tc.text)
			err := d.Set("x", tc.path...)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if string(d.Bytes()) != tc.text {
				t.Errorf("the text became %q", d.Bytes())
			}
		})
	}
}

func TestDelete(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		path       []string
		want       string
	}{
		{"missing", "a = 1\n", []string{"b", "c"}, "a = 1\n"},
		{"line", "a = 1\nb = [\n 1,\n] # b\nc = 1\n", []string{"b"}, "a = 1\nc = 1\n"},
		{"last line", "a = 1\r\nb = 1", []string{"b"}, "a = 1"},
		{"all", "\ufeffb = 1", []string{"b"}, "\ufeff"},
		{"comment of others", "# why\na = 1\n", []string{"a"}, "# why\n"},
		{"our comment", "# why\n  # " + marker + "\na = 1\n", []string{"a"}, "# why\n"},
		{"our words in a value", "x = '''\n# " + marker + "'''\na = 1\n", []string{"a"}, "x = '''\n# " + marker + "'''\n"},
		{"table", "a = 1\n\n# b\n[b]\nx = 1\n# in b\n  [b.c]\n  y = 1\n\n[d]\n", []string{"b"}, "a = 1\n\n# b\n# in b\n\n[d]\n"},
		{"table with its gap", "[a]\nx = 1\n\n[b]\ny = 1\n\n[c]\n", []string{"b"}, "[a]\nx = 1\n\n[c]\n"},
		{"last table", "[a]\nx = 1\n\n[b]\ny = 1", []string{"b"}, "[a]\nx = 1"},
		{"table far apart", "[b]\ny = 1\n[a]\nx = 1\n[b.c]\nz = 1\n", []string{"b"}, "[a]\nx = 1\n"},
		{"dotted", "b.c = 1\na = 1\nb.d = 1\n", []string{"b"}, "a = 1\n"},
		{"inline first", "a = { b = 1, c = 2 }\n", []string{"a", "b"}, "a = { c = 2 }\n"},
		{"inline last", "a = { b = 1, c = 2 }\n", []string{"a", "c"}, "a = { b = 1 }\n"},
		{"inline only", "a = { b = 1 }\n", []string{"a", "b"}, "a = {}\n"},
		{"inline dotted", "a = { x = 1, b.c = 1, b.d = 2 }\n", []string{"a", "b"}, "a = { x = 1 }\n"},
		{"array of tables", "[[a]]\nx = 1\n[[a]]\nx = 2\n[a.b]\nc = 1\n[d]\n", []string{"a"}, "[d]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := parse(t, tc.text)
			if err := d.Delete(tc.path...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(d.Bytes())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAppendAndDrop(t *testing.T) {
	for _, tc := range []struct{ name, text, appended string }{
		{"backslash", "a = ['\\'] # '\n", "a = ['\\', \"n\"] # '\n"},
		{"one line", "a = [\"x\"] # c\n", "a = [\"x\", \"n\"] # c\n"},
		{"empty", "a = []\n", "a = [\"n\"]\n"},
		{"trailing comma", "a = [ 'x', ]\n", "a = [ 'x', \"n\", ]\n"},
		{"lines", "a = [\n  'x',\n  'y'\n]\n", "a = [\n  'x',\n  'y',\n  \"n\"\n]\n"},
		{"lines with commas", "a = [\r\n\t'x', # x\r\n\t'y',\r\n]\r\n", "a = [\r\n\t'x', # x\r\n\t'y',\r\n\t\"n\",\r\n]\r\n"},
		{"comment, comma and quotes inside", "a = [\n '],#', # ], \"\n \"\"\"]\"\\\"\"\"\"\", [1, {b = ']'}],\n]\n", "a = [\n '],#', # ], \"\n \"\"\"]\"\\\"\"\"\"\", [1, {b = ']'}], \"n\",\n]\n"},
		{"dates and numbers", "a = [1979-05-27 07:32:00, 1 ]\n", "a = [1979-05-27 07:32:00, 1, \"n\" ]\n"},
		{"inline", "t = { a = ['x'] }\n[u]\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := parse(t, tc.text)
			path := []string{"a"}
			if tc.appended == "" {
				path, tc.appended = []string{"t", "a"}, "t = { a = ['x', \"n\"] }\n[u]\n"
			}
			for range 2 {
				if err := d.Append("n", path...); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.appended, string(d.Bytes())); diff != "" {
					t.Errorf("appended: -want +got:\n%s", diff)
				}
			}
			if err := d.Drop("n", path...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.text, string(d.Bytes())); diff != "" {
				t.Errorf("dropped: -want +got:\n%s", diff)
			}
		})
	}
}

func TestDrop(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"first", "a = ['n', 'x']\n", "a = ['x']\n"},
		{"all", "a = ['n', 'n',]\n", "a = []\n"},
		{"not there", "a = ['x']\n", "a = ['x']\n"},
		{"after a comment", "a = [\n 'x', # the first\n 'n',\n]\n", "a = [\n 'x', # the first\n \n]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := parse(t, tc.text)
			if err := d.Drop("n", "a"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(d.Bytes())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	d := parse(t, "a = 1\n[[b]]\n")
	for _, path := range []string{"a", "b"} {
		if d.Append("n", path) == nil {
			t.Errorf("append to %s: no error", path)
		}
	}
	if err := d.Drop("n", "a"); err == nil {
		t.Error("drop from a number: no error")
	}
	if err := d.Drop("n", "c"); err != nil {
		t.Errorf("drop from nothing: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"a = 1\nb = \n", "line 2, column 5: unexpected character U+000A at start of value"},
		{"a = 1\n\n  a = 2\n", "line 3, column 3: key a is already defined, on line 1"},
		{"[a]\n[b]\n[a]\n", "line 3, column 2: table a already exists, on line 1"},
		{"\ufeffa b = 1\n", "line 1, column 6: expected '=' after key"},
		{"[a\n", "line 1, column 3: expected ']' to close table name"},
	} {
		_, err := Parse([]byte(tc.text))
		var at *SyntaxError
		if !errors.As(err, &at) {
			t.Errorf("%q: %v", tc.text, err)
			continue
		}
		if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
			t.Errorf("%q: -want +got:\n%s", tc.text, diff)
		}
	}
}

// A splice with another result than wanted is refused.
func TestSpliceRefuses(t *testing.T) {
	for _, with := range []string{"a = 2\n", "a = 1\nb = 1\n", "", "a = \n"} {
		d := parse(t, "a = 1\n")
		err := d.applyEdits([]edit{{span{0, 6}, with}}, map[string]any{"a": int64(1)})
		if !errors.Is(err, ErrShape) || string(d.Bytes()) != "a = 1\n" {
			t.Errorf("%q: %v, %q", with, err, d.Bytes())
		}
	}
}

func parse(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d.Marker = marker
	return d
}
