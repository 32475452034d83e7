// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// TestCheck: what no GPU has goes, and the rest is in order.
func TestCheck(t *testing.T) {
	minor, negative := 3, -1
	r := gpu.Reading{
		Measures: gpu.Measures{gpu.ClockMHz: 1500, gpu.PCIeGTps: math.NaN(), gpu.DPMLevel: -1, gpu.EncoderPercent: 101, gpu.HBMC: -40, gpu.BoardC: -200, gpu.UsedKiB: math.Inf(1)},
		Ports: []gpu.Port{
			{Number: 2, Measures: gpu.Measures{gpu.PortLanes: 16}},
			{Number: 1, Measures: gpu.Measures{gpu.PortLanes: 65}},
			{Number: 0},
			{Number: 17},
			{Number: 2, Measures: gpu.Measures{gpu.PortLanes: 8, gpu.PortGTps: 32}},
		},
		Slices: []gpu.SliceReading{{Index: 15, Minor: &negative}, {Index: 0, Minor: &minor}, {Index: -1}, {Index: 16}},
		Counters: []gpu.Counter{
			{Kind: gpu.CountRAS, Type: gpu.Corrected, Name: "MC reg1", Value: 2},
			{Kind: gpu.CountRAS, Type: gpu.Corrected, Name: "MC reg0", Value: 1},
			{Kind: gpu.CountRAS, Type: gpu.Corrected, Name: "MC reg0", Value: 9},
			{Kind: gpu.CountPCI, Type: "dbe", Name: "\x1b[2J"},
			{Kind: gpu.CountPCI, Type: "dbe"},
			{Kind: gpu.OpticalC, Name: "0", Value: -10},
			{Kind: gpu.RASStatus, Name: "x", Value: -10},
		},
	}
	r.Check()
	want := gpu.Reading{
		Measures: gpu.Measures{gpu.ClockMHz: 1500, gpu.HBMC: -40},
		Ports:    []gpu.Port{{Number: 2, Measures: gpu.Measures{gpu.PortLanes: 16, gpu.PortGTps: 32}}},
		Slices:   []gpu.SliceReading{{Index: 0, Minor: &minor}},
		Counters: []gpu.Counter{
			{Kind: gpu.OpticalC, Name: "0", Value: -10},
			{Kind: gpu.CountRAS, Type: gpu.Corrected, Name: "MC reg0", Value: 1},
			{Kind: gpu.CountRAS, Type: gpu.Corrected, Name: "MC reg1", Value: 2},
		},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	for i := range 2 * gpu.MaxCounters {
		r.Counters = append(r.Counters, gpu.Counter{Kind: gpu.RASStatus, Name: string(rune('A'+i%26)) + string(rune('A'+i/26%26)) + string(rune('A'+i/676))})
	}
	if r.Check(); len(r.Counters) != gpu.MaxCounters {
		t.Errorf("%d counters", len(r.Counters))
	}
}

// TestPortOf: ports and slices have the numbers that a GPU can have, and are added once.
func TestPortOf(t *testing.T) {
	var r gpu.Reading
	for number, want := range map[int]bool{0: false, 1: true, gpu.MaxPorts: true, gpu.MaxPorts + 1: false} {
		if p := r.PortOf(number); (p != nil) != want || (p != nil && (p.Number != number || r.PortOf(number) != p)) {
			t.Errorf("port %d: %+v", number, p)
		}
	}
	for index, want := range map[int]bool{-1: false, 0: true, gpu.MaxSlices - 1: true, gpu.MaxSlices: false} {
		if s := r.SliceOf(index); (s != nil) != want || (s != nil && (s.Index != index || r.SliceOf(index) != s)) {
			t.Errorf("slice %d: %+v", index, s)
		}
	}
}
