// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

// checkNode checks what holds for every Node.
func checkNode(t *testing.T, n gpu.Node) {
	t.Helper()
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	again, err := gpu.DecodeNode(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for i := range again.GPUs {
		again.GPUs[i].Product = "" // discover derives it
	}
	if diff := cmp.Diff(n, again); diff != "" {
		t.Error(diff)
	}
	for _, g := range n.GPUs {
		for i, s := range g.Slices {
			if s.UUID != "" && !gpu.ValidSliceUUID(s.UUID) || s.ComputePercent > 100 || s.MemoryMiB < 0 {
				t.Errorf("slice %+v", s)
			}
			if i > 0 && s.Kind == g.Slices[i-1].Kind && s.Index <= g.Slices[i-1].Index {
				t.Errorf("slices %+v are not in order", g.Slices)
			}
		}
	}
}

func TestNode(t *testing.T) {
	a := gpu.GPU{Index: 0, BDF: gputest.BDF(t, "0000:08:00.0"), UUID: "GPU-a", Serial: "CA", Model: "MXC500", MemoryMiB: 32768, NUMA: -1}
	b := gpu.GPU{Index: 1, BDF: gputest.BDF(t, "0000:09:00.0"), UUID: "GPU-b", Serial: "SB", Model: "MXC500", MemoryMiB: 65536, NUMA: -1, Healthy: true}
	mx := gpu.Link{A: 0, B: 1, Kind: "MX"}
	for name, test := range map[string]struct {
		change   func(*Answer)
		want     func(a, b *gpu.GPU, l *gpu.Link) // changes what is expected
		warnings []string                         // a part of each
	}{
		"all is told":         {func(*Answer) {}, nil, nil},
		"upper case":          {func(a *Answer) { a.Devices[0].BDF = "0000:09:00.0" }, nil, nil},
		"a warning":           {func(a *Answer) { a.Warnings = []string{"w"} }, nil, []string{"w"}},
		"a function missing":  {func(a *Answer) { a.Missing = []string{"mxSmlGetMemoryInfo"} }, nil, []string{"memory sizes are not known: this libmxsml has no mxSmlGetMemoryInfo"}},
		"another one missing": {func(a *Answer) { a.Missing = []string{"mxSmlGetChipSerial"} }, nil, nil},
		"no UUID":             {func(a *Answer) { a.Devices[0].UUID = "" }, func(_, b *gpu.GPU, _ *gpu.Link) { b.UUID = "" }, []string{"GPU 0000:09:00.0 has no UUID"}},
		"an invalid UUID":     {func(a *Answer) { a.Devices[0].UUID = "GPU-$(x)" }, func(_, b *gpu.GPU, _ *gpu.Link) { b.UUID = "" }, []string{"ignored the UUID of GPU 0000:09:00.0"}},
		"one UUID twice": {
			func(a *Answer) { a.Devices[0].UUID = "GPU-A" }, func(a, b *gpu.GPU, _ *gpu.Link) { a.UUID, b.UUID = "", "" },
			[]string{"ignored the UUID GPU-A of GPU 0000:09:00.0", "ignored the UUID GPU-a of GPU 0000:08:00.0"},
		},
		"an invalid serial number": {func(a *Answer) { a.Devices[0].BoardSerial = "S B" }, func(_, b *gpu.GPU, _ *gpu.Link) { b.Serial = "CB" }, []string{`invalid serial number "S B"`}},
		"health not told":          {func(a *Answer) { a.Devices[1].Available = nil }, func(a, _ *gpu.GPU, _ *gpu.Link) { a.Healthy = true }, nil},
		"a reason":                 {func(a *Answer) { a.Devices[1].Reason = "ECC" }, nil, []string{`GPU 0000:08:00.0 is unhealthy: libmxsml reports "ECC"`}},
		"limited": {
			func(a *Answer) { a.Devices[0] = Device{ID: 0, BDF: "0000:09:00.0", Limited: true} },
			func(_, b *gpu.GPU, _ *gpu.Link) { *b = gpu.GPU{Index: 1, BDF: b.BDF, NUMA: -1} },
			[]string{"GPU 0000:09:00.0 is unhealthy: libmxsml lists it as limited"},
		},
		"link off at one end": {
			func(a *Answer) { a.Devices[1].MetaXLink = "training failed" }, func(_, _ *gpu.GPU, l *gpu.Link) { l.Down = true },
			[]string{"the MetaXLink of GPU 0000:08:00.0 is down: training failed"},
		},
		"PCIe does not care": {
			func(a *Answer) { a.Devices[1].MetaXLink, a.Links[0].Level = "disabled", 6 },
			func(_, _ *gpu.GPU, l *gpu.Link) { l.Kind = "SYS" }, nil,
		},
		"the worse way counts":         {func(a *Answer) { a.Links = append(a.Links, Pair{1, 0, 4}) }, func(_, _ *gpu.GPU, l *gpu.Link) { l.Kind = "NODE" }, nil},
		"the worse way counts, turned": {func(a *Answer) { a.Links = []Pair{{1, 0, 4}, {0, 1, 5}} }, func(_, _ *gpu.GPU, l *gpu.Link) { l.Kind = "NODE" }, nil},
		"unknown":                      {func(a *Answer) { a.Links[0].Level = 8 }, func(_, _ *gpu.GPU, l *gpu.Link) { *l = gpu.Link{} }, nil},
		"a negative level":             {func(a *Answer) { a.Links[0].Level = -1 }, func(_, _ *gpu.GPU, l *gpu.Link) { *l = gpu.Link{} }, []string{"unknown link level -1"}},
		"no links":                     {func(a *Answer) { a.Links = nil }, func(_, _ *gpu.GPU, l *gpu.Link) { *l = gpu.Link{} }, []string{"MetaXLink topology unknown; choosing by PCIe and NUMA only: mxSmlGetDeviceTopology gave no answer"}},
		"slices": {
			func(a *Answer) {
				a.Devices[0].Sliced, a.Devices[0].QoS = true, gpu.QoSBestEffort
				a.Devices[0].Slices = []Slice{{Index: 4, UUID: "$(x)", MemoryMiB: 128}, {Index: 1, UUID: "s1", Alias: "a", ComputePercent: 5}}
			},
			func(_, b *gpu.GPU, _ *gpu.Link) {
				b.Mode = gpu.ModeSGPU
				b.Slices = []gpu.Slice{
					{Kind: gpu.SliceSGPU, Index: 1, UUID: "s1", Alias: "a", ComputePercent: 5, QoS: gpu.QoSBestEffort},
					{Kind: gpu.SliceSGPU, Index: 4, MemoryMiB: 128, QoS: gpu.QoSBestEffort},
				}
			},
			[]string{`GPU 0000:09:00.0: ignored the UUID "$(x)" of its slice 4`},
		},
		"one slice twice": {
			func(a *Answer) {
				a.Devices[0].Slices, a.Devices[1].Slices = []Slice{{UUID: "s"}}, []Slice{{UUID: "S"}}
				a.Devices[0].QoS = "best"
			},
			func(a, b *gpu.GPU, _ *gpu.Link) {
				a.Mode, b.Mode = gpu.ModeSGPU, gpu.ModeSGPU
				a.Slices, b.Slices = []gpu.Slice{{Kind: gpu.SliceSGPU}}, []gpu.Slice{{Kind: gpu.SliceSGPU}}
			},
			[]string{`the UUID "s" of slice 0 of GPU 0000:09:00.0`, `the UUID "S" of slice 0 of GPU 0000:08:00.0`},
		},
		"virtual functions at one address": {
			func(a *Answer) {
				a.Devices[0].VFs = []int{2, 3}
				a.Devices = append(a.Devices, Device{ID: 2, BDF: "0000:09:00.1", Mode: ModeVF}, Device{ID: 3, BDF: "0000:09:00.1", Mode: ModeVF})
			},
			nil,
			[]string{"ignored virtual function 2", "ignored virtual function 3"},
		},
		"virtual functions": {
			func(a *Answer) {
				a.Devices[0].ID, a.Devices[0].Mode, a.Devices[0].VFs, a.Links[0].A = 100, ModePF, []int{0, 2, 1, 7}, 100
				a.Devices = append(a.Devices, Device{ID: 0, BDF: "0000:09:00.2", UUID: "GPU-b2", Mode: ModeVF, MemoryKiB: 1 << 20}, Device{ID: 2, BDF: "0000:09:00.1", UUID: "x y", Mode: ModeVF})
			},
			func(_, b *gpu.GPU, _ *gpu.Link) {
				b.VFs = []gpu.BDF{gputest.BDF(t, "0000:09:00.1"), gputest.BDF(t, "0000:09:00.2")}
				b.Slices = []gpu.Slice{
					{Kind: gpu.SliceVF, Index: 0, BDF: gputest.BDF(t, "0000:09:00.1")},
					{Kind: gpu.SliceVF, Index: 1, BDF: gputest.BDF(t, "0000:09:00.2"), UUID: "GPU-b2", MemoryMiB: 1024},
				}
			}, nil,
		},
		"a virtual function at no address": {
			func(a *Answer) {
				a.Devices[0].VFs = []int{2}
				a.Devices = append(a.Devices, Device{ID: 2, BDF: "nowhere", Mode: ModeVF})
			},
			nil,
			[]string{`ignored virtual function 2: its PCI address is "nowhere"`},
		},
		"a virtual function alone": {func(a *Answer) { a.Devices[0].Mode = ModeVF }, nil, nil},
		"an invalid address": {
			func(a *Answer) { a.Devices = append(a.Devices, Device{ID: 2, BDF: "0000:00:00.0"}) },
			nil,
			[]string{`ignored device 2: its PCI address is "0000:00:00.0"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			told, a, b, l := answer(), a, b, mx
			test.change(&told)
			if test.want != nil {
				test.want(&a, &b, &l)
			}
			want := gpu.NewNode("")
			want.GPUs = []gpu.GPU{a, b}
			if l != (gpu.Link{}) {
				want.Links = []gpu.Link{l}
			}
			got := told.Node()
			checkNode(t, got)
			gputest.WantWarnings(t, test.warnings, got.Warnings)
			got.Warnings = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNodeSharedAddress: two devices with the same address are both left out.
func TestNodeSharedAddress(t *testing.T) {
	a := answer()
	a.Devices[1].BDF = a.Devices[0].BDF
	n := a.Node()
	if len(n.GPUs) > 0 || len(n.Links) > 0 {
		t.Errorf("got %+v", n)
	}
	gputest.WantWarnings(t, []string{"ignored device 0: another device", "ignored device 1: another device"}, n.Warnings)
}
