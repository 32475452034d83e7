// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBundle(t *testing.T) {
	cases := []struct {
		name string
		args []string
		want string
		ok   bool
	}{
		{"containerd's create", []string{"--root", "/r", "create", "--bundle", "/b", "--pid-file", "/p", "id"}, "/b", true},
		{"conmon's create", []string{"create", "-b", "/b", "id"}, "/b", true},
		{"joined", []string{"run", "--bundle=/b", "id"}, "/b", true},
		{"in place", []string{"run", "id"}, ".", true},
		{"starts what is made", []string{"start", "id"}, "", false},
		{"prints", []string{"--version"}, "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := bundle(c.args); got != c.want || ok != c.ok {
				t.Errorf("bundle(%q) = %q, %t, want %q, %t", c.args, got, ok, c.want, c.ok)
			}
		})
	}
}

func TestLower(t *testing.T) {
	decode := func(text string) map[string]any {
		var value map[string]any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	got := decode(`{
		"args": ["sh"], "user": {"uid": 1000, "additionalGids": [44]}, "rlimits": [{"type": "RLIMIT_NOFILE"}],
		"capabilities": {"bounding": ["CAP_MKNOD", "CAP_SYS_RESOURCE"], "effective": ["CAP_CHOWN"]}
	}`)
	got["oomScoreAdj"] = json.Number("-998")
	lower(got)
	want := decode(`{
		"args": ["sh"], "user": {"uid": 1000, "additionalGids": [44]},
		"capabilities": {"bounding": ["CAP_MKNOD"], "effective": ["CAP_CHOWN"]}
	}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lower (-want +got):\n%s", diff)
	}
}
