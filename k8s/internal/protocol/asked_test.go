// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseAsked(t *testing.T) {
	early, late := "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, test := range []struct {
		what   string
		data   map[string]string
		want   map[string]Asked
		silent bool
	}{
		{"nothing", nil, map[string]Asked{}, false},
		{"asked", map[string]string{"asked.a": early}, map[string]Asked{"a": {Last: at(early)}}, false},
		{"not asked", map[string]string{"unasked.a": early + " ns/p"}, map[string]Asked{"a": {Unasked: at(early), Pod: "ns/p"}}, true},
		{"not any more", map[string]string{"asked.a": early, "unasked.a": late + " ns/p"}, map[string]Asked{"a": {at(early), at(late), "ns/p"}}, true},
		{"again", map[string]string{"asked.a": late, "unasked.a": early + " ns/p"}, map[string]Asked{"a": {at(late), at(early), "ns/p"}}, false},
		{"no time", map[string]string{"asked.a": "now", "unasked.a": "then ns/p"}, map[string]Asked{}, false},
		{"no pod", map[string]string{"unasked.a": late}, map[string]Asked{}, false},
		{"not the name of a pod", map[string]string{"unasked.a": late + " ns/\x1b[2J"}, map[string]Asked{}, false},
		{"a pod where none belongs", map[string]string{"asked.a": late + " ns/p"}, map[string]Asked{}, false},
		{"another key", map[string]string{"x": late}, map[string]Asked{}, false},
	} {
		got := ParseAsked(test.data)
		if d := cmp.Diff(test.want, got); d != "" || got["a"].IsSilent() != test.silent {
			t.Errorf("%s: %t\n%s", test.what, got["a"].IsSilent(), d)
		}
	}
	many := map[string]string{}
	for i := range 100 {
		many[AskedKey+strings.Repeat("a", i+1)] = late
	}
	if got := ParseAsked(many); len(got) != maxSchedulers {
		t.Errorf("%d schedulers are read", len(got))
	}
}

func FuzzParseAsked(f *testing.F) {
	f.Add("asked.a", "2026-01-01T00:00:00Z")
	f.Add("unasked.a", "2026-01-01T00:00:00Z ns/p")
	f.Fuzz(func(t *testing.T, key, value string) {
		for name, a := range ParseAsked(map[string]string{key: value}) {
			if text := fmt.Sprint(a.Pod); strings.ContainsAny(text, "\x1b\n ") || !strings.HasSuffix(key, name) {
				t.Errorf("%q", a.Pod)
			}
		}
	})
}
