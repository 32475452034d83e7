// SPDX-License-Identifier: Apache-2.0

package hook

import "testing"

func TestRootfs(t *testing.T) {
	for path, want := range map[string]string{"rootfs": "/b/rootfs", "./x/y": "/b/x/y", "/abs": "/abs"} {
		if got, err := Rootfs("/b", path); err != nil || got != want {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"", ".", "..", "../x", "x/../..", "./"} {
		if got, err := Rootfs("/b", path); err == nil {
			t.Errorf("%q: %q", path, got)
		}
	}
}
