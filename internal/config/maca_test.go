// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLoadMACA(t *testing.T) {
	none, usual := Value{"", "default"}, []string{"metax-tech.com/maca.version"}
	for name, tc := range map[string]struct {
		text, env string
		want      MACA
	}{
		"no section":     {"", "", MACA{Check: none, Labels: usual}},
		"a default":      {"maca.default = 'auto'\n", "", MACA{Default: Value{"auto", "c.toml"}, Check: none, Labels: usual}},
		"a check":        {"maca.check = 'strict'\n", "", MACA{Check: Value{"strict", "c.toml"}, Labels: usual}},
		"environment":    {"maca.check = 'strict'\n", "off", MACA{Check: Value{"off", "METAX_CTK_MACA_CHECK"}, Labels: usual}},
		"labels":         {"maca.labels = ['org.example.maca']\n", "", MACA{Check: none, Labels: []string{"org.example.maca"}}},
		"requirements":   {"[[maca.requirements]]\nmaca = '3'\ndriver = '3.0'\nwhy = 'so'\n[[maca.requirements]]\nmaca = '2.32'\ndriver = '2.12'\n", "", MACA{Check: none, Labels: usual, Requirements: []Requirement{{MACA: "3", Driver: "3.0", Why: "so"}, {MACA: "2.32", Driver: "2.12"}}}},
		"an empty table": {"maca.requirements = []\n", "", MACA{Check: none, Labels: usual, Requirements: []Requirement{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Load("c.toml", []byte(tc.text), func(k string) string {
				if k == "METAX_CTK_MACA_CHECK" {
					return tc.env
				}
				return ""
			})
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.Default == (Value{}) {
				tc.want.Default = none
			}
			if d := cmp.Diff(tc.want, got.MACA); d != "" {
				t.Error(d)
			}
		})
	}
	for text, want := range map[string]string{
		"maca = '3'\ndriver = '3'\ndrivr = '3.0'\n": `unknown key "maca.requirements.drivr"`,
		"maca = '3'\n":                 "maca.requirements",
		"maca = 'new'\ndriver = '3'\n": `"new"`,
	} {
		_, err := Load("c.toml", []byte("[[maca.requirements]]\n"+text), func(string) string { return "" })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want one with %q", text, err, want)
		}
	}
}
