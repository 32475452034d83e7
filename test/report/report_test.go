// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

func TestVerdict(t *testing.T) {
	cases := []struct {
		name    string
		node    Node
		refused bool
	}{
		{"opens", Node{}, false},
		{"allowed, no driver", Node{Open: "ENXIO"}, false},
		{"denied by the device cgroup", Node{Open: "EPERM"}, true},
		{"denied by its mode", Node{Open: "EACCES"}, true},
		{"not even made", Node{Mknod: "EPERM"}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := c.node.Verdict(); (err != nil) != c.refused {
				t.Errorf("Verdict() = %v, want refused %t", err, c.refused)
			}
		})
	}
}
