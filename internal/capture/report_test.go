// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"testing"
)

// A part that breaks does not take the others along.
func TestPart(t *testing.T) {
	for _, tt := range []struct {
		part func() (string, error)
		want string
	}{
		{func() (string, error) { return "all\n", nil }, "all\n"},
		{func() (string, error) { return "", errors.New("no more") }, "failed: no more\n"},
		{func() (string, error) { panic("x") }, "this part is broken: x\n"},
	} {
		if got := part(tt.part); got != tt.want {
			t.Errorf("%q; want %q", got, tt.want)
		}
	}
}
