// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// TestLayoutUnread: a layout that this user may not read changes nothing.
func TestLayoutUnread(t *testing.T) {
	node := func() gpu.Node {
		n := gpu.NewNode("node")
		n.Warnings = []string{"MetaXLink topology unknown; choosing by PCIe and NUMA only. Once per boot: sudo metax-ctk cdi generate"}
		for i := range 2 {
			n.GPUs = append(n.GPUs, gpu.GPU{Index: i, BDF: gpu.BDF{Bus: uint8(i + 1)}, UUID: gpu.UUID("GPU-" + string(rune('a'+i))), Healthy: i == 0, Nodes: []string{"/dev/dri/card0"}})
		}
		n.Links = []gpu.Link{{A: 0, B: 1, Kind: "MX"}}
		return n
	}
	got := node()
	fresh{layout.Layout{Unread: fs.ErrPermission}}.addTo(&got, node(), recordSource)
	if diff := cmp.Diff(node(), got); diff != "" {
		t.Error(diff)
	}
}
