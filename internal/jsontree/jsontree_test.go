// SPDX-License-Identifier: Apache-2.0

package jsontree_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/jsontree"
)

// value is what encoding/json returns for v, with numbers as they are written.
func value(v jsontree.Value) any {
	switch v.Kind() {
	case jsontree.Bool:
		return v.True()
	case jsontree.Number:
		return json.Number(v.Raw())
	case jsontree.String:
		return v.Text()
	case jsontree.Array:
		all := []any{}
		for e := range v.Elements() {
			all = append(all, value(e))
		}
		return all
	case jsontree.Object:
		all := map[string]any{}
		for key, e := range v.Members() {
			all[key.Text()] = value(e)
		}
		return all
	}
	return nil
}

var texts = []string{
	`{}`, `[]`, ` [ ] `, `{"a":{},"b":[]}`, `[[],[[]],{}]`, `null`, `true`, `false`, `-0`, `1.5e+10`, `"a"`, `"\u00e9\ud83d\ude00\ud83d"`,
	`{"a":1,"b":[1,2,{"c":null}],"d":"x\ny\"\\\/\b\f\r\t"}`, "\"\xff\xc3\"", `[{"a":[]},{"b":{}}]`, `{"":""}`,
	"\t{\r\n\"a\" : [ 1 , 2 ] }\n", `"\ud83d\u0041"`, `"\udc00\ud83d\ude00"`, "\"\u007f\u2028\"",
	``, ` `, `{`, `[`, `"`, `"\`, `"\u12`, `"\x"`, `tru`, `nul`, `-`, `01`, `1.`, `1e`, `1e+`, `.5`, `+1`, `{a:1}`, `{"a"}`, `{"a":}`,
	`{"a":1,}`, `{"a":1 "b":2}`, `[1,]`, `[1 2]`, `[,]`, `[]]`, `{}{}`, "\"\n\"", "\xef\xbb\xbf{}", `truex`, `nullnull`, `{,}`, "[1\v]",
	"\"\\u\x10000\"", `"\u00G0"`, `"\uABcd"`, `"\u123`, `"\u"`, "\"\x00\"", "\x00", "{}\x00", "[1\x00]", `[1,`, `{"a":1,`, `{1:2}`, `{"a" 1}`, `[1}`, `{"a":1]`,
	`[-]`, `[0.]`, `[00]`, `[-01]`, `[1e]`, `[1E-]`, `[-0.0e-0]`, `[1.2.3]`, `[1e2e3]`, `[t]`, `[True]`, `{"a":1,"a":1`, `{"a":1,"a":}`, `{"a":1,"a":1}x`,
}

// check compares with encoding/json, which accepts duplicates.
func check(t *testing.T, text []byte) {
	t.Helper()
	tree, err := jsontree.Parse(text)
	valid := json.Valid(text)
	if twice := (*jsontree.DuplicateError)(nil); errors.As(err, &twice) {
		return
	}
	if (err == nil) != valid || err != nil && !errors.Is(err, jsontree.ErrSyntax) {
		t.Fatalf("%q: %v; encoding/json says valid is %v", text, err, valid)
	}
	if err != nil {
		return
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if got := value(tree.Root()); !reflect.DeepEqual(want, got) {
		t.Fatalf("%q: %s", text, cmp.Diff(want, got))
	}
	if raw := string(tree.Root().Raw()); raw != strings.Trim(string(text), " \t\r\n") {
		t.Fatalf("%q is %q as it stands", text, raw)
	}
}

func TestParse(t *testing.T) {
	for _, text := range texts {
		check(t, []byte(text))
	}
	for depth, want := range map[int]error{10000: nil, 10001: jsontree.ErrSyntax} {
		if _, err := jsontree.Parse([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))); !errors.Is(err, want) {
			t.Errorf("nested %d deep: %v", depth, err)
		}
	}
}

func TestDuplicates(t *testing.T) {
	var many strings.Builder
	for c := 'a'; c <= 'z'; c++ {
		many.WriteString(`"` + string(c) + `":1,`)
	}
	// What is not JSON is that first of all.
	if _, err := jsontree.Parse([]byte(`{"a":1,"a":1`)); !errors.Is(err, jsontree.ErrSyntax) {
		t.Errorf("a key twice in a text that ends too early: %v", err)
	}
	for text, twice := range map[string]bool{
		`{"a":1,"b":2}`: false, `{"a":{"a":1},"b":{"a":1}}`: false, `{"a":1,"A":2}`: false,
		`{"a":1,"a":1}`: true, `{"a":1,"b":{},"a":1}`: true, `{"é":1,"\u00e9":1}`: true, `{"a":1,"\u0061":1}`: true,
		"{\"\xff\":1,\"\xfe\":1}": true, `[{"x":{"b":1,"c":1,"b":1}}]`: true,
		`{` + many.String() + `"A":1}`: false, `{` + many.String() + `"\u006d":1}`: true,
	} {
		_, err := jsontree.Parse([]byte(text))
		if found := (*jsontree.DuplicateError)(nil); errors.As(err, &found) != twice || err != nil && !twice {
			t.Errorf("%s: %v, want a key twice: %v", text, err, twice)
		}
	}
}

func TestAt(t *testing.T) {
	tree, err := jsontree.Parse([]byte(`{"a":{"b":[7,"x"]},"\u0063":null,"n":1.5,"big":9223372036854775808}`))
	if err != nil {
		t.Fatal(err)
	}
	root := tree.Root()
	if raw := string(root.At("a", "b").Raw()); raw != `[7,"x"]` {
		t.Errorf("a.b is %s", raw)
	}
	for _, path := range [][]string{{"x"}, {"a", "x"}, {"a", "b", "c"}, {"c", "d"}, {"n", "n"}} {
		v := root.At(path...)
		n, ok := v.Int()
		if v.Kind() != jsontree.Absent || v.Raw() != nil || v.Text() != "" || v.True() || v.Is("") || n != 0 || ok {
			t.Errorf("%q is %v, want nothing", path, v)
		}
		for range v.Elements() {
			t.Errorf("%q has elements", path)
		}
		for range v.Members() {
			t.Errorf("%q has members", path)
		}
	}
	if kind := root.At("c").Kind(); kind != jsontree.Null {
		t.Errorf("a key that is written with an escape is %v", kind)
	}
	for _, name := range []string{"n", "big"} {
		if n, ok := root.At(name).Int(); ok {
			t.Errorf("%s is the integer %d", name, n)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { check(t, text) })
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"\\\x00\x1f\x7f é\u2028\xff")
	f.Fuzz(func(t *testing.T, s string) {
		quoted := jsontree.AppendString(nil, s)
		tree, err := jsontree.Parse(quoted)
		if err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if got, want := tree.Root().Text(), strings.ToValidUTF8(s, "\uFFFD"); strings.ReplaceAll(got, "\uFFFD", "") != strings.ReplaceAll(want, "\uFFFD", "") {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
