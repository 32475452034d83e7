// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	for _, tc := range []struct {
		all  bool
		n    int
		want string
	}{
		{false, 0, ""},
		{false, 3, "111"},
		{false, 4, "1110… and 1 more warning: metax-ctk doctor"},
		{false, 7, "1110000… and 4 more warnings: metax-ctk doctor"},
		{true, 7, "1111111"},
	} {
		var got strings.Builder
		w := Warnings{All: tc.all}
		for range tc.n {
			got.WriteByte("01"[map[bool]int{true: 1}[w.Admit()]])
		}
		got.WriteString(w.Rest("metax-ctk doctor") + w.Rest("metax-ctk doctor"))
		if got.String() != tc.want {
			t.Errorf("%d, all: %t: %s, want %s", tc.n, tc.all, got.String(), tc.want)
		}
	}
}
