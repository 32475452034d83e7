// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"strings"
	"testing"
)

func TestIgnored(t *testing.T) {
	long := "METAX_VISIBLE_DEVICES=" + strings.Repeat("é", 100)
	for name, tc := range map[string]struct {
		env  []string
		want string
	}{
		"no environment": {nil, ""},
		"another":        {[]string{"METAX_VISIBLE_DEVICES_=0", "PATH=/bin"}, ""},
		"one":            {[]string{"A=b", "METAX_VISIBLE_DEVICES=0", "C=d"}, "METAX_VISIBLE_DEVICES=0"},
		"the last":       {[]string{"METAX_VISIBLE_DEVICES=0", "METAX_VISIBLE_DEVICES=all"}, "METAX_VISIBLE_DEVICES=all"},
		"none at last":   {[]string{"METAX_VISIBLE_DEVICES=0", "METAX_VISIBLE_DEVICES=none"}, ""},
		"void":           {[]string{"METAX_VISIBLE_DEVICES=void"}, ""},
		"empty":          {[]string{"METAX_VISIBLE_DEVICES="}, ""},
		"long":           {[]string{long}, long[:100]},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Ignored(tc.env); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
