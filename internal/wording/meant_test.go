// SPDX-License-Identifier: Apache-2.0

package wording

import "testing"

func TestMeant(t *testing.T) {
	for _, tc := range []struct {
		typed, want string
		candidates  []string
	}{
		{"gpus", "gpu", []string{"gpu", "sgpu", "maca"}},
		{"mcaa", "maca", []string{"gpu", "sgpu", "maca"}},
		{"dokcer", "docker", []string{"containerd", "docker"}},
		{"polcy", "policy", []string{"scope", "policy"}},
		{"dry", "dry-run", []string{"yes", "dry-run"}},
		{"jsno", "json", []string{"table", "json", "yaml"}},
		{"xml", "", []string{"table", "json", "yaml"}},
		{"x", "", []string{"o", "ps", "pick"}},
		{"", "", []string{"gpu"}},
		{"gpu", "", nil},
	} {
		want := ""
		if tc.want != "" {
			want = `; did you mean "` + tc.want + `"?`
		}
		if got := Meant(tc.typed, tc.candidates...); got != want {
			t.Errorf("%q among %q: %q, want %q", tc.typed, tc.candidates, got, want)
		}
	}
}
