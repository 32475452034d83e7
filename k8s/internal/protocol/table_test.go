// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/peer"
)

func TestParseTable(t *testing.T) {
	for text, want := range map[string]peer.HAMiTable{
		`{"1":100,"2":200}`:  {1: 100, 2: 200},
		` {"8": 1073741824}`: {8: 1 << 30},
		`{}`:                 {},
		`null`:               {},
	} {
		got, err := ParseTable(ScoresAnnotation, text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{
		``, `[]`, `{"1":1.5}`, `{"1":"1"}`, `{"1":1}x`, `{"0":1}`, `{"-1":1}`, `{"01":1}`, `{"+1":1}`, `{"a":1}`, `{"4097":1}`,
		`{"1":-1}`, `{"1":1073741825}`, `{"1":1e99}`, `{"1":99999999999999999999}`, strings.Repeat(" ", maxTableText) + `{}`,
	} {
		if got, err := ParseTable(ScoresAnnotation, text); !errors.Is(err, ErrAnnotation) || got != nil {
			t.Errorf("%.40q gives %v, %v", text, got, err)
		}
	}
}

func FuzzParseTable(f *testing.F) {
	for _, text := range []string{`{"1":100,"2":200}`, `{"1":1.5}`, `{"01":1}`, `null`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTable(LossesAnnotation, text)
		if err != nil {
			return
		}
		again, err := ParseTable(LossesAnnotation, got.String())
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	})
}
