// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestLost(t *testing.T) {
	link := func(a, b int, kind string, down bool) gpu.Link {
		return gpu.Link{A: a, B: b, Kind: kind, Down: down}
	}
	for name, test := range map[string]struct {
		links []gpu.Link
		want  LostLinks
	}{
		"none": {nil, nil},
		"down": {
			[]gpu.Link{
				link(4, 5, "MX", true), link(1, 0, "MX", true), link(0, 1, "MX", true), // once, in order
				link(2, 3, "MX", true), link(2, 3, "MX", false), // another is up
				link(6, 7, "PIX", true), // not MetaXLink
				link(7, 8, "MX", true), link(-1, 0, "MX", true), link(3, 3, "MX", true),
			},
			LostLinks{{[2]int{0, 1}, LinkDown}, {[2]int{4, 5}, LinkDown}},
		},
		"missing, beside one that is down": {
			[]gpu.Link{link(0, 1, "MX", false), link(1, 2, "MX", false), link(2, 3, "MX", false), link(0, 3, "MX", false), link(1, 3, "MX", true)},
			LostLinks{{[2]int{1, 3}, LinkDown}, {[2]int{0, 2}, LinkMissing}},
		},
		"a chain, which is no mesh with losses": {
			[]gpu.Link{link(0, 1, "MX", false), link(1, 2, "MX", false), link(2, 3, "MX", false), link(3, 4, "MX", false)}, nil,
		},
	} {
		if diff := cmp.Diff(test.want, Lost(onSwitches(test.links...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
