// SPDX-License-Identifier: Apache-2.0

package dockerargs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestFromEdits(t *testing.T) {
	node := gpu.NewNode("")
	node.Driver = &gpu.Driver{Path: "/opt/mxdriver"}
	e := edits.Container(node, []gpu.GPU{{UUID: "GPU-1", Nodes: []string{"/dev/dri/card1"}, GIDs: []uint32{105, 44}}}, nil).Below("/node")
	e.Env = []string{"A=1"}
	for want, e := range map[string]edits.Edits{
		"--device=metax-tech.com/gpu=GPU-1 --group-add=44 --group-add=105 --env=METAX_GPU_UUIDS=GPU-1 --env=METAX_GPU_INDICES=0 |":                                                                     e.ByName(),
		"--device=/node/dev/dri/card1:/dev/dri/card1:rw --volume=/node/opt/mxdriver:/opt/mxdriver:ro --group-add=44 --group-add=105 --env=METAX_GPU_UUIDS=GPU-1 --env=METAX_GPU_INDICES=0 | --env=A=1": e.ByValue(),
	} {
		before, behind := FromEdits(e)
		if d := cmp.Diff(want, strings.Join(append(append(before, "|"), behind...), " ")); d != "" {
			t.Error(d)
		}
	}
}
