// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestLostGPU: whatever is requested, the address of a GPU that is gone is named.
func TestLostGPU(t *testing.T) {
	node := simtest.Node(t, "c500-8")
	gone := node.GPUs[7]
	node.GPUs = node.GPUs[:7]
	node.Links = slices.DeleteFunc(node.Links, func(l gpu.Link) bool { return l.B == 7 })
	lost := gpu.Lost{BDF: gone.BDF, UUID: gone.UUID, Index: 7}
	node.Lost, node.Warnings = []gpu.Lost{lost}, []string{lost.String()}
	for _, value := range []string{"1", "all", "[3]", "0,1"} {
		r, err := request.Parse(value)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(Job{Node: node, Requests: []Request{{Request: r}}})
		if err != nil || !slices.Equal(p.warnings, []string{lost.String()}) {
			t.Errorf("%s: %v, warnings %q; want %q", value, err, p.warnings, lost)
		}
	}
	for _, value := range []string{string(gone.UUID), string(gone.UUID[:12]), gone.BDF.String(), "[7]"} {
		r, err := request.Parse(value)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewPlan(Job{Node: node, Requests: []Request{{Request: r}}}); err == nil || !strings.Contains(err.Error(), lost.String()) {
			t.Errorf("%s: %v; want that %s", value, err, lost)
		}
	}
}
