// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestModes counts devices, and how many of them are healthy, of eight GPUs of which one is
// broken.
func TestModes(t *testing.T) {
	broken := func(g *gpu.GPU) { g.Healthy = false }
	whole, virtual, divided := node(t, "c500-8", 0), node(t, "c500-8", 2), node(t, "c500-8-sgpu", 0)
	for _, test := range []struct {
		node gpu.Node
		mode protocol.Mode
		want string
	}{
		{whole, "", "8 7"},
		{whole, protocol.ModeNative, "8 7"},
		{whole, protocol.ModeShared, "24 21"},
		{whole, protocol.ModeSGPU, "128 112"},
		{whole, protocol.ModeVGPU, "8 0"},
		{virtual, protocol.ModeNative, "16 14"},
		{virtual, protocol.ModeVGPU, "16 14"},
		{virtual, protocol.ModeShared, "24 0"},
		{virtual, protocol.ModeSGPU, "128 0"},
		{divided, protocol.ModeNative, "8 5"}, // 2 is in slice mode, 5 has virtual functions
		{divided, protocol.ModeShared, "24 15"},
		{divided, protocol.ModeSGPU, "128 96"},
		{divided, protocol.ModeVGPU, "16 2"},
	} {
		devices, _ := Devices(test.node, after(edit(test.node, 3, broken)), Options{ModeSettings: protocol.ModeSettings{Mode: test.mode, Shares: 3}})
		healthy := 0
		for i, d := range devices {
			if d.Healthy {
				healthy++
			}
			if test.mode != "" && !Serves(test.mode, d.ID) {
				t.Errorf("mode %s: %s is not of it", test.mode, d.ID)
			}
			if slices.ContainsFunc(devices[:i], func(e Device) bool { return e.ID == d.ID }) {
				t.Errorf("mode %s: %s is twice", test.mode, d.ID)
			}
			if d.Slice && d.NUMA != nil {
				t.Errorf("%s has a NUMA node", d.ID)
			}
		}
		if got := fmt.Sprint(len(devices), healthy); got != test.want {
			t.Errorf("mode %q: %s devices, healthy; want %s", test.mode, got, test.want)
		}
	}
}

func TestServes(t *testing.T) {
	modes := []protocol.Mode{"", protocol.ModeNative, protocol.ModeVGPU, protocol.ModeShared, protocol.ModeSGPU}
	for id, want := range map[string][]protocol.Mode{
		"GPU-a":          {protocol.ModeNative},
		"GPU-a-vf":       {protocol.ModeNative},
		"GPU-a-vf1":      {protocol.ModeNative, protocol.ModeVGPU},
		"GPU-a::15":      {protocol.ModeShared},
		"GPU-a-sgpu0":    {protocol.ModeSGPU},
		"GPU-sgpu0-a::1": {protocol.ModeShared},
	} {
		var got []protocol.Mode
		for _, m := range modes {
			if Serves(m, id) {
				got = append(got, m)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is of %v, want %v", id, got, want)
		}
	}
}
