// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

func run(ctx context.Context, path string, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, path, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("run %s %v: %w", path, args, err)
	}
	return out, nil
}

// TestRoundTrip discovers the host of each node, with the real sysfs reader and the
// simulated mx-smi. The result is the same Node, without warnings.
func TestRoundTrip(t *testing.T) {
	virtual := simtest.Node(t, "c500-1")
	virtual.GPUs[0].VFs = []gpu.BDF{gputest.BDF(t, "0000:01:00.1"), gputest.BDF(t, "0000:01:00.2")}
	virtual.GPUs[0].Slices = []gpu.Slice{ // whose numbers are not in the order of addresses
		{Kind: gpu.SliceVF, Index: 0, BDF: gputest.BDF(t, "0000:01:00.2")},
		{Kind: gpu.SliceVF, Index: 3, BDF: gputest.BDF(t, "0000:01:00.1"), Nodes: []string{"/dev/dri/card5", "/dev/dri/renderD140"}, GIDs: []uint32{44}},
	}
	virtual.GPUs[0].SRIOV = gpu.SRIOVOn
	virtual.Driver.Mode = gpu.DriverCloud
	sliced := simtest.Node(t, "c500-8-sgpu")
	for k := range sliced.GPUs[2].Slices { // with devices of their own
		s := &sliced.GPUs[2].Slices[k]
		s.Index, s.QoS = 3+9*k, gpu.QoSBurstShare
		s.Nodes = append(s.Nodes, fmt.Sprintf("/dev/metax/sgpu%d", k))
	}
	sliced.GPUs[0].Mode = gpu.ModeSGPU // without a slice
	open := simtest.Node(t, "sim:1x1x2")
	open.GPUs[0].GIDs, open.Shared.GIDs = nil, nil
	open.GPUs[1].GIDs = []uint32{44, 104} // card and render node have groups of their own
	open.GPUs[1].NodeGIDs = map[string]uint32{open.GPUs[1].Nodes[0]: 44, open.GPUs[1].Nodes[1]: 104}
	open.Shared.Nodes = append(open.Shared.Nodes, "/dev/mxnd", "/dev/mxgd")
	bridged := simtest.Node(t, "sim:2x1x1")
	for i, path := range [][]string{{"0000:00:01.0", "0000:01:00.0"}, nil} {
		g := &bridged.GPUs[i]
		g.PCIePath, g.PCIeSwitch = nil, nil
		for _, b := range path {
			g.PCIePath = append(g.PCIePath, gputest.BDF(t, b))
		}
		if path != nil {
			g.PCIeSwitch = &g.PCIePath[1]
		}
	}
	nodes := []gpu.Node{virtual, sliced, open, bridged, simtest.Node(t, "sim:2x2x4")}
	for _, name := range sim.Names() {
		nodes = append(nodes, simtest.Node(t, name))
	}
	for i, want := range nodes {
		t.Run(fmt.Sprint(i, " ", want.Name), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "host")
			if err := sim.WithSMI(hostTree(t, want), want, standin.SMI(t)).Write(dir); err != nil {
				t.Fatal(err)
			}
			root := simtest.Root(t, dir)
			got, err := discover.Host{Surroundings: true, Root: root, Run: run}.Discover(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range want.GPUs {
				if !g.Healthy {
					want.Warnings = append(want.Warnings, fmt.Sprintf("GPU %s is unhealthy: the driver reports %q (code 1)", g.BDF, "simulated"))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("discovered (-want +got):\n%s", diff)
			}
		})
	}
}
