// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// TestNotes holds what is said of GPUs that are given although they do not belong together.
func TestNotes(t *testing.T) {
	node, bare, cut := simulated(t, "c500-8"), simulated(t, "c500-8-pcie"), simulated(t, "c500-8-sgpu")
	trainer := usage.Holder{GPUs: gpuBDFs(node, []int{3}), Container: &usage.Container{Engine: "docker", State: usage.Running, Facts: usage.Facts{Name: "trainer"}}}
	reader := usage.Holder{GPUs: gpuBDFs(node, []int{7}), Processes: []usage.Process{{PID: 12, Command: "python"}}}
	cut.GPUs[6].Slices, cut.GPUs[6].Mode = []gpu.Slice{{Kind: gpu.SliceSGPU, UUID: "SGPU-6", Nodes: cut.GPUs[2].Slices[0].Nodes}}, gpu.ModeSGPU
	first := services(t, " 2")
	first[0].Policy = key.First
	numa := services(t, " 4")
	numa[0].Scope = key.NUMA
	sick := simulated(t, "c500-8")
	for _, i := range []int{2, 3, 6, 7} {
		sick.GPUs[i].Healthy = false
	}
	for name, tc := range map[string]struct {
		node     gpu.Node
		requests []Request
		holders  []usage.Holder
		want     []string
	}{
		"linked":          {node, services(t, " 4"), []usage.Holder{trainer}, nil},
		"not linked":      {node, services(t, " 4"), []usage.Holder{trainer, reader}, []string{"GPUs 0,1,4,5 are not all linked by MetaXLink; in use: 3 by container trainer (docker), 7 by process 12 (python). To get linked ones: --gpus-scope=link --gpus-wait=10m"}},
		"by choice":       {node, services(t, " [0,4]"), nil, nil},
		"in a scope":      {node, numa, []usage.Holder{trainer, reader}, nil},
		"never linked":    {node, services(t, " 5"), nil, []string{"5 GPUs requested; MetaX recommends 1, 2, 4 or 8"}},
		"unhealthy":       {sick, services(t, " 4"), nil, []string{"GPUs 0,1,4,5 are not all linked by MetaXLink; unhealthy: 2,3,6,7 (metax-ctk health)"}},
		"no links":        {bare, services(t, " 4"), nil, nil},
		"by the policy":   {node, first, []usage.Holder{use(node, "", 0, 1, 2)}, []string{"GPUs 3,4 are not all linked by MetaXLink. To get linked ones: --gpus-scope=link"}},
		"shared":          {node, services(t, " 4+share"), []usage.Holder{use(node, "", 0, 1, 4, 5)}, []string{"GPUs 2,3,6,7 are not all linked by MetaXLink. To get linked ones: --gpus-scope=link"}},
		"of a project":    {node, services(t, "a 4", "b 2"), []usage.Holder{trainer, reader}, []string{`service "a": GPUs 0-2,4 are not all linked by MetaXLink; in use: 3 by container trainer (docker), 7 by process 12 (python). To get linked ones: --gpus-scope=link --gpus-wait=10m`}},
		"slices of one":   {cut, services(t, " sgpu:"+cut.GPUs[2].Slices[0].Name()+",sgpu:"+cut.GPUs[2].Slices[1].Name()), nil, nil},
		"a VF and others": {cut, services(t, " sgpu:"+cut.GPUs[5].Slices[0].Name()+",sgpu:SGPU-6"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := NewPlan(Job{Node: tc.node, Requests: tc.requests})
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Preview(lease.Report{Holders: tc.holders})
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(r.Warnings, func(line string) bool { return slices.Contains(tc.node.Warnings, line) })
			if d := cmp.Diff(strings.Join(tc.want, "\n"), strings.Join(got, "\n")); d != "" {
				t.Error(d)
			}
		})
	}
	two := services(t, " sgpu:"+cut.GPUs[2].Slices[0].Name()+",sgpu:SGPU-6")
	const want = "slices of GPUs 2,6 in one container: MetaX supports slices of one GPU only (metax-ctk sgpu list)"
	if _, err := NewPlan(Job{Node: cut, Requests: two}); err == nil || err.Error() != want {
		t.Errorf("slices of two GPUs: %v, want %s", err, want)
	}
}
