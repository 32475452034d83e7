// SPDX-License-Identifier: Apache-2.0

package drmclients

import "testing"

func TestLocksApart(t *testing.T) {
	for release, want := range map[string]bool{
		"5.15.0-1-generic": true, "5.15": true, "6.1.0": true, "6.12.117+deb13-amd64": true, "10.0": true,
		"5.14.21": false, "5.4.0-216-generic": false, "4.19.90": false, "4.20": false, "": false, "x": false, "6": false,
	} {
		if got := locksApart(release); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}
