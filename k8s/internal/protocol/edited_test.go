// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEdit has what the chart's values say, what people wrote, and what holds.
func TestEdit(t *testing.T) {
	type data = map[string]string
	for _, test := range []struct {
		what                string
		values, edits, want data
		over                string
	}{
		{"neither", nil, nil, data{}, ""},
		{"values", data{"a": "1"}, nil, data{"a": "1"}, ""},
		{"edits", nil, data{"a": "1"}, data{"a": "1"}, ""},
		{"another key", data{"a": "1"}, data{"b": "2"}, data{"a": "1", "b": "2"}, ""},
		{"the same text", data{"a": "1\n"}, data{"a": "1"}, data{"a": "1"}, ""},
		{"another text", data{"a": "1", "b": "1", "c": "1"}, data{"c": "", "b": "2"}, data{"a": "1", "b": "2", "c": ""}, "b c"},
	} {
		got, over := Edit(test.values, test.edits)
		if d := cmp.Diff(test.want, got) + cmp.Diff(test.over, strings.Join(over, " ")); d != "" {
			t.Errorf("%s: %s", test.what, d)
		}
	}
}
