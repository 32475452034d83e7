// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestRule(t *testing.T) {
	for _, test := range []struct{ name, in, line, lines, message string }{
		{"plain", "train-7 (docker)", "train-7 (docker)", "train-7 (docker)", "train-7 (docker)"},
		{"Chinese", "训练任务（一）", "训练任务（一）", "训练任务（一）", "训练任务（一）"},
		{"accents, also combined", "Zoé e\u0301", "Zoé e\u0301", "Zoé e\u0301", "Zoé e\u0301"},
		{"symbols", "→ × … │ 🙂", "→ × … │ 🙂", "→ × … │ 🙂", "→ × … │ 🙂"},
		{"escape sequence", "a\x1b[2Jb", "a�[2Jb", "a�[2Jb", "a�[2Jb"},
		{"C0 and DEL", "a\x00\a\b\x7fb", "a����b", "a����b", "a����b"},
		{"C1 as a character", "a\u009b31mb", "a�31mb", "a�31mb", "a�31mb"},
		{"C1 as a byte", "a\x9b31mb", "a�31mb", "a�31mb", "a�31mb"},
		{"writing direction", "a\u202eb\u2066c\u200fd", "a�b�c�d", "a�b�c�d", "a�b�c�d"},
		{"no width", "a\u200bb\ufeffc", "a�b�c", "a�b�c", "a�b�c"},
		{"separators", "a\u2028b\u2029c\u0085d", "a�b�c�d", "a�b�c�d", "a�b�c�d"},
		{"half a character", "a\xe4\xb8", "a��", "a��", "a��"},
		{"lines", "a\n  b\n", "a�  b�", "a\n  b\n", "a; b"},
		{"lines of Windows", "a\r\nb", "a��b", "a�\nb", "a; b"},
		{"a list", "cannot do it:\n\n- b\n- c\n", "cannot do it:��- b�- c�", "cannot do it:\n\n- b\n- c\n", "cannot do it: - b; - c"},
		{"tabs", "a\tb", "a�b", "a\tb", "a b"},
		{"nothing", "", "", "", ""},
		{"only lines", "\n\r\n", "���", "\n�\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := [3]string{Line(test.in), Lines(test.in), Message(test.in)}
			if diff := cmp.Diff([3]string{test.line, test.lines, test.message}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got, want := Clean(test.in), test.line == test.in; got != want {
				t.Errorf("Clean = %t, want %t", got, want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	want := map[string]string{"训练": "a\u009b31m\u202eb\x7f\U000e0041\x1b\n\t🙂"}
	plain, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text := JSON(plain)
	if !Clean(strings.ReplaceAll(string(text), "\n", "")) || strings.Count(string(text), "\n") != 2 {
		t.Errorf("not printable: %q", text)
	}
	var got map[string]string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzRule(f *testing.F) {
	for _, seed := range []string{"a\x1b[2Jb", "训练\u202e", "a\n\tb: \r\n\x9b", "\ufffd"} {
		f.Add(seed)
	}
	forbidden := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }
	f.Fuzz(func(t *testing.T, s string) {
		for name, out := range map[string]string{
			"Line": Line(s), "Lines": strings.NewReplacer("\n", "", "\t", "").Replace(Lines(s)), "Message": Message(s),
		} {
			if !utf8.ValidString(out) || strings.ContainsFunc(out, forbidden) {
				t.Errorf("%s(%q) = %q", name, s, out)
			}
			if Message(out) != strings.TrimSpace(out) && name != "Lines" {
				t.Errorf("%s(%q) = %q, and again %q", name, s, out, Message(out))
			}
		}
		if Line(s) != Line(Line(s)) || !Clean(Line(s)) {
			t.Errorf("Line(%q) is not clean: %q", s, Line(s))
		}
	})
}
