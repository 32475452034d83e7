// SPDX-License-Identifier: Apache-2.0

package terminal

import "testing"

func TestTable(t *testing.T) {
	rows := [][]string{{"NAME", "GPUS"}, {"a\x1b[2J", "8"}, {"long-name", ""}}
	want := "NAME       GPUS\na�[2J      8\nlong-name  -\n"
	if got := Table(rows); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if rows[2][1] != "" {
		t.Error("the rows have changed")
	}
}
