// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// TestMeasures: each value of the library is the right measure, of the right port and slice.
func TestMeasures(t *testing.T) {
	n := simtest.Node(t, "sim:1x1x2")
	n.GPUs[1].Mode = gpu.ModeSGPU
	n.GPUs[1].Slices = []gpu.Slice{{Kind: gpu.SliceSGPU, Index: 3, UUID: "GPU-slice", ComputePercent: 10, MemoryMiB: 1024}}
	run := program(t)
	read := func(faults ...string) gpu.Reading {
		t.Helper()
		r := mxsml.Reader{Run: run, Path: standin.Build(t, t.TempDir(), n, faults...), Timeout: time.Minute}
		readings, err := r.Readings(t.Context())
		if err != nil || len(readings) != 2 {
			t.Fatalf("%+v, %v", readings, err)
		}
		return readings[1] // the library's number 0
	}
	minor := 3
	want := gpu.Reading{
		Measures: gpu.Measures{
			gpu.UsedKiB: 1 << 20, gpu.TotalKiB: 64 << 20, gpu.SystemUsedKiB: 0, gpu.SystemTotalKiB: 4 << 20, gpu.Milliwatt: 72000,
			gpu.HotspotC: 40.5, gpu.HBMC: 30.15, gpu.BoardC: 30.03, gpu.EncoderPercent: 1, gpu.DecoderPercent: 2,
			gpu.ClockMHz: 1100, gpu.MemoryClockMHz: 300, gpu.EncoderMHz: 500, gpu.DecoderMHz: 600, gpu.ThrottleReasons: 1 << 40, gpu.DPMLevel: 7,
			gpu.PCIeGTps: 16, gpu.PCIeLanes: 8, gpu.PCIeMaxGTps: 32, gpu.PCIeMaxLanes: 16, gpu.PCIeRxMBps: 21, gpu.PCIeTxMBps: 22,
			gpu.EthRxMBps: 31, gpu.EthTxMBps: 32, gpu.WiringID: 4, gpu.SocketID: 0,
		},
		Slices: []gpu.SliceReading{{Index: 3, Minor: &minor, Measures: gpu.Measures{gpu.SlicePercent: 12.5, gpu.UsedKiB: 0, gpu.TotalKiB: 1 << 20}}},
		Counters: []gpu.Counter{
			{Kind: gpu.OpticalC, Name: "0", Value: 51.5},
			{Kind: gpu.CountPCI, Type: "aer_ce", Name: "event", Value: 51},
			{Kind: gpu.CountPCI, Type: "aer_ue", Name: "surprise down", Value: 50},
			{Kind: gpu.CountPCI, Type: "dbe", Name: "event", Value: 53},
			{Kind: gpu.CountPCI, Type: "mmio", Name: "event", Value: 54},
			{Kind: gpu.CountPCI, Type: "synfld", Name: "event", Value: 52},
			{Kind: gpu.CountRAS, Type: gpu.Corrected, Name: "MC reg3", Value: 2},
			{Kind: gpu.CountRAS, Type: gpu.Uncorrected, Name: "MC reg3", Value: 1},
			{Kind: gpu.RASStatus, Name: "METALK reg1", Value: 255},
		},
	}
	for i := range 7 {
		p := gpu.Port{Number: i + 1, Measures: gpu.Measures{
			gpu.PortGTps: 0, gpu.PortLanes: 0, gpu.PortRxMBps: float64(i + 1), gpu.PortTxMBps: float64(101 + i),
			gpu.PortRxBytes: float64(1<<40 | i), gpu.PortTxBytes: float64(2<<40 | i), gpu.PortCorrected: float64(i), gpu.PortUncorrected: float64(10 * i),
		}}
		if i < 3 {
			p.Measures[gpu.PortGTps], p.Measures[gpu.PortLanes] = 32, 16
		}
		want.Ports = append(want.Ports, p)
	}
	part := func(r gpu.Reading) gpu.Reading {
		return gpu.Reading{Measures: r.Measures, Ports: r.Ports, Slices: r.Slices, Counters: r.Counters}
	}
	if diff := cmp.Diff(want, part(read())); diff != "" {
		t.Error(diff)
	}
	// What is not supported, or says that it has more than there is room for, is missing.
	without := read("code mxSmlGetClocks 3", "count mxSmlGetMetaXLinkAer 9", "count mxSmlGetRasErrorData 129", "count mxSmlGetRasStatusData -1", "code mxSmlGetSgpuUsage 4", "endless mxSmlGetPciEventInfo 0")
	for _, clock := range []gpu.Measure{gpu.ClockMHz, gpu.MemoryClockMHz, gpu.EncoderMHz, gpu.DecoderMHz} {
		delete(want.Measures, clock)
	}
	for _, p := range want.Ports {
		delete(p.Measures, gpu.PortCorrected)
		delete(p.Measures, gpu.PortUncorrected)
	}
	delete(want.Slices[0].Measures, gpu.SlicePercent)
	want.Counters = slices.DeleteFunc(want.Counters, func(c gpu.Counter) bool { return c.Kind != gpu.OpticalC })
	if diff := cmp.Diff(want, part(without)); diff != "" {
		t.Error(diff)
	}
}
