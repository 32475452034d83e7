// SPDX-License-Identifier: Apache-2.0

package toml

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every key and value is at its offsets, including those that go-toml does not provide.
func TestStatements(t *testing.T) {
	d := parse(t, "\ufeffa.'b c' = [ # x ]\n  'y', [], [[1], {}] ,\n] # z\n[t]\nn = { k = \"\\u00e9\", l.m = [true] }\n[[i]]\nd = 1979-05-27 07:32:00 # q\n")
	want := []string{
		"a 'b c' = array [ # x ]\n  'y', [], [[1], {}] ,\n]: text 'y' (y), array [], array [[1], {}]: array [1]: other 1 (1), inline {}",
		"[t",
		`n = inline { k = "\u00e9", l.m = [true] }: k = text "\u00e9" (é), l m = array [true]: switch true (true)`,
		"[[i",
		"d = other 1979-05-27 07:32:00 (1979-05-27 07:32:00)",
	}
	var got []string
	for _, s := range d.Statements() {
		got = append(got, described(d.text, s))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func described(text []byte, s Statement) string {
	var keys []string
	for _, k := range s.Keys {
		keys = append(keys, string(text[k.Start:k.End]))
	}
	name := strings.Join(keys, " ")
	if s.Header != Setting {
		return strings.Repeat("[", int(s.Header)) + name
	}
	return name + " = " + describedValue(text, s.Value)
}

func describedValue(text []byte, v Value) string {
	out := []string{"other", "text", "switch", "array", "inline"}[v.Kind] + " " + string(text[v.Start:v.End])
	if v.Text != "" {
		out += fmt.Sprintf(" (%s)", v.Text)
	}
	var below []string
	for _, e := range v.Elements {
		below = append(below, describedValue(text, e))
	}
	for _, s := range v.Settings {
		below = append(below, described(text, s))
	}
	if below != nil {
		out += ": " + strings.Join(below, ", ")
	}
	return out
}
