// SPDX-License-Identifier: Apache-2.0

package containerd

import "testing"

func TestKeeps(t *testing.T) {
	const (
		status  = "containerd.io/restart.status"
		policy  = "containerd.io/restart.policy"
		count   = "containerd.io/restart.count"
		stopped = "containerd.io/restart.explicitly-stopped"
	)
	for _, test := range []struct {
		name   string
		labels map[string]string
		exit   uint32
		want   bool
	}{
		{"no labels", nil, 1, false},
		{"no wish to run", map[string]string{policy: "always"}, 1, false},
		{"stopped by its user", map[string]string{status: "stopped", policy: "always"}, 1, false},
		{"always", map[string]string{status: "running", policy: "always"}, 0, true},
		{"always is the default", map[string]string{status: "running"}, 0, true},
		{"always has no tries", map[string]string{status: "running", policy: "always:3"}, 1, false},
		{"unless stopped has no tries", map[string]string{status: "running", policy: "unless-stopped:3"}, 1, false},
		{"on failure, tries of nothing", map[string]string{status: "running", policy: "on-failure:x"}, 1, false},
		{"no", map[string]string{status: "running", policy: "no"}, 1, false},
		{"unknown policy", map[string]string{status: "running", policy: "sometimes"}, 1, false},
		{"unless stopped", map[string]string{status: "running", policy: "unless-stopped"}, 0, true},
		{"unless stopped, stopped", map[string]string{status: "running", policy: "unless-stopped", stopped: "true"}, 0, false},
		{"unless stopped, not stopped", map[string]string{status: "running", policy: "unless-stopped", stopped: "false"}, 0, true},
		{"on failure, none", map[string]string{status: "running", policy: "on-failure"}, 0, false},
		{"on failure", map[string]string{status: "running", policy: "on-failure"}, 1, true},
		{"on failure, tries left", map[string]string{status: "running", policy: "on-failure:3", count: "2"}, 1, true},
		{"on failure, no tries left", map[string]string{status: "running", policy: "on-failure:3", count: "3"}, 1, false},
		{"on failure, count of nothing", map[string]string{status: "running", policy: "on-failure:3", count: "x"}, 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := willRestart(test.labels, test.exit); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
