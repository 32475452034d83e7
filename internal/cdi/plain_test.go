// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
)

// plainSpecs returns the specs in JSON among the golden files, which are what this package
// writes, by name.
func plainSpecs(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no golden files: ", err)
	}
	specs := map[string][]byte{}
	for _, path := range paths {
		if specs[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return specs
}

// What this package writes is plain, so that the start of a container needs no YAML parser.
func TestParsePlain(t *testing.T) {
	for name, text := range plainSpecs(t) {
		got, ok := parsePlain(text)
		want, err := libcdi.ParseSpec(text)
		if !ok || err != nil {
			t.Fatalf("%s: plain: %v, library: %v", name, ok, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-library +plain):\n%s", name, diff)
		}
	}
}

// full is a spec with every field that this package writes.
const full = `{"cdiVersion":"0.7.0","kind":"v.org/c","devices":[{"name":"d","containerEdits":{` +
	`"deviceNodes":[{"path":"/dev/a","hostPath":"/dev/b","permissions":"rw","gid":44}],"additionalGids":[44]}}],` +
	`"containerEdits":{"env":["A=1"],"mounts":[{"hostPath":"/a","containerPath":"/b","options":["ro"]}],` +
	`"hooks":[{"hookName":"createContainer","path":"/h","args":["h"],"env":["A=1"]}]}}`

// notPlain are edits of full, after which parsers may disagree, or which this package does
// not write.
var notPlain = map[string]struct{ old, new string }{
	"unknown field":             {`"kind"`, `"kinds":"a/b","kind"`},
	"unknown field in a device": {`"name"`, `"names":"a","name"`},
	"unknown field in edits":    {`"env":["A=1"],"m`, `"envs":[],"m`},
	"unknown field in a node":   {`"gid"`, `"pid":1,"gid"`},
	"unknown field in a mount":  {`"options"`, `"option"`},
	"unknown field in a hook":   {`"args"`, `"arg"`},
	"field in another case":     {`"kind"`, `"Kind"`},
	"key twice":                 {`"kind"`, `"kind":"a/b","kind"`},
	"key twice, in other cases": {`"kind"`, `"Kind":"a/b","kind"`},
	"field not written here":    {`"kind"`, `"annotations":{},"kind"`},
	"merge key":                 {`"kind"`, `"<<":{},"kind"`},
	"string as a number":        {`"name":"d"`, `"name":1`},
	"string as a boolean":       {`"name":"d"`, `"name":true`},
	"string as a list":          {`"name":"d"`, `"name":["d"]`},
	"number as a string":        {`"gid":44`, `"gid":"44"`},
	"fraction":                  {`"gid":44`, `"gid":44.0`},
	"exponent":                  {`"gid":44`, `"gid":44e0`},
	"negative number":           {`"gid":44`, `"gid":-44`},
	"number too large":          {`"gid":44`, `"gid":4294967296`},
	"number beyond 64 bits":     {`"gid":44`, `"gid":99999999999999999999`},
	"list as a string":          {`["ro"]`, `"ro"`},
	"list as an object":         {`["ro"]`, `{}`},
	"object as a list":          {`{"hostPath":"/a","containerPath":"/b","options":["ro"]}`, `[]`},
	"null":                      {`"name":"d"`, `"name":null`},
	"null in a list":            {`["ro"]`, `["ro",null]`},
	"null as a list":            {`["ro"]`, `null`},
	"null as an object":         {`{"hostPath":"/a","containerPath":"/b","options":["ro"]}`, `null`},
	"escape":                    {`/dev/a`, `/dev/\u0061`},
	"escaped slash":             {`/dev/a`, `\/dev/a`},
	"escape in a key":           {`"kind"`, `"k\u0069nd"`},
	"not ASCII":                 {`/dev/a`, `/dev/ä`},
	"next line of Unicode":      {`/dev/a`, "/dev/\u0085a"},
	"not UTF-8":                 {`/dev/a`, "/dev/\xff"},
	"delete character":          {`/dev/a`, "/dev/\x7f"},
	"line break in a string":    {`/dev/a`, "/dev/\na"},
	"tab":                       {`"kind"`, "\t\"kind\""},
	"carriage return":           {`"kind"`, "\r\n\"kind\""},
	"byte order mark":           {`{"cdiVersion"`, "\ufeff{\"cdiVersion\""},
	"colon on another line":     {`"kind":`, "\"kind\"\n:"},
	"colon far away":            {`"kind":`, `"kind"` + strings.Repeat(" ", 1100) + `:`},
	"comment":                   {`"kind"`, "# comment\n\"kind\""},
	"single quotes":             {`"kind"`, `'kind'`},
	"no quotes":                 {`"kind"`, `kind`},
	"comma at the end":          {`["ro"]`, `["ro",]`},
	"anchor":                    {`"ro"`, `&a "ro"`},
	"tag":                       {`"ro"`, `!!str "ro"`},
	"document marker":           {`{"cdiVersion"`, "---\n" + `{"cdiVersion"`},
	"text after it":             {`"env":["A=1"]}]}}`, `"env":["A=1"]}]}} x`},
	"a second spec":             {`"env":["A=1"]}]}}`, `"env":["A=1"]}]}}` + "\n---\n{}"},
	"cut off":                   {`"env":["A=1"]}]}}`, `"env":["A=1"]}]}`},
}

func TestParsePlainDeclines(t *testing.T) {
	if _, ok := parsePlain([]byte(full)); !ok {
		t.Fatal("the spec that the others are made from is not plain")
	}
	for name, edit := range notPlain {
		text := strings.Replace(full, edit.old, edit.new, 1)
		if text == full {
			t.Fatalf("%s: no %q in the spec", name, edit.old)
		}
		if spec, ok := parsePlain([]byte(text)); ok {
			t.Errorf("%s: parsed as %+v", name, spec)
		}
	}
	for _, text := range []string{"", "\n", "null", "[]", `"a"`, "1"} {
		if spec, ok := parsePlain([]byte(text)); ok {
			t.Errorf("%q: parsed as %+v", text, spec)
		}
	}
}

// What parsePlain parses, the library parses, to the same value.
func FuzzParsePlain(f *testing.F) {
	for _, text := range plainSpecs(f) {
		f.Add(text)
	}
	f.Add([]byte(least))
	f.Add([]byte(full))
	f.Add([]byte(" \n{ }\n\n"))
	f.Add([]byte(`{"devices":[],"containerEdits":{"env":[],"deviceNodes":[{}],"mounts":[ ],"additionalGids":[0,-0, 4294967295` + "\n]}}"))
	f.Add([]byte(`{"kind": "# ---: <<, {a: b}", "cdiVersion": "null ~ 1.0 %TAG !x &y *z", "devices":[{"name":""},{"name":"` + strings.Repeat("x", 2000) + `"}]}`))
	f.Add([]byte("{\n\"kind\":\n\n\"---\"\n,\"containerEdits\":{\"env\":[\"...\"\n,\n\"a: b\"]}}"))
	for _, edit := range notPlain {
		f.Add([]byte(strings.Replace(full, edit.old, edit.new, 1)))
	}
	for _, bad := range badSpecs {
		f.Add([]byte(bad.data))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := parsePlain(text)
		if !ok {
			return
		}
		want, err := libcdi.ParseSpec(text)
		if err != nil {
			t.Fatalf("the library: %v\n%s", err, text)
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("(-library +plain):\n%s\n%s", cmp.Diff(want, got), text)
		}
	})
}
