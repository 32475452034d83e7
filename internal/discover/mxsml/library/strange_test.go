// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// TestStrange: values that the library cannot mean are left out, and no others.
func TestStrange(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "sim:1x1x2")
	n.GPUs[1].Mode = gpu.ModeSGPU
	n.GPUs[1].Slices = []gpu.Slice{{Kind: gpu.SliceSGPU, UUID: "GPU-s", ComputePercent: 25, MemoryMiB: 1024, QoS: gpu.QoSFixedShare}}
	whole := read(t, run, standin.Build(t, t.TempDir(), n)).Node()
	for _, test := range []struct {
		fault    string
		change   func(*gpu.Node)
		warnings []string // a part of each, none is left over
	}{
		{"print mxSmlInit 0", func(*gpu.Node) {}, nil},
		{"print mxSmlGetDeviceInfo 0", func(*gpu.Node) {}, nil},
		{"endless mxSmlGetBoardSerial 0", func(n *gpu.Node) { n.GPUs[0].Serial, n.GPUs[1].Serial = "CHIP1", "CHIP0" }, []string{"serial number: mxSmlGetBoardSerial returned an invalid text"}},
		{"endless mxSmlGetDeviceVersion 0", func(n *gpu.Node) { n.GPUs[0].VBIOS, n.GPUs[1].VBIOS = "", "" }, []string{"VBIOS version: mxSmlGetDeviceVersion returned an invalid text", "driver version: mxSmlGetDeviceVersion returned an invalid text"}},
		{"endless mxSmlGetMetaXLinkState 0", func(*gpu.Node) {}, nil},
		{"endless mxSmlGetSgpuInfo 0", func(n *gpu.Node) { n.GPUs[1].Slices = nil }, []string{"slices: mxSmlGetSgpuInfo returned an invalid text"}},
		{"endless mxSmlGetSgpuAlias 0", func(*gpu.Node) {}, nil},
		{"count mxSmlGetSgpuCount 17", func(n *gpu.Node) { n.GPUs[1].Slices = nil }, []string{"slices: mxSmlGetSgpuCount returned 17; at most 16"}},
		{"count mxSmlGetSgpuCount 3", func(*gpu.Node) {}, nil},
		{"count mxSmlGetDeviceTopology 9", func(n *gpu.Node) { n.Links = nil }, []string{"unknown link level 9"}},
		{"count mxSmlGetDeviceTopology -1", func(n *gpu.Node) { n.Links = nil }, []string{"unknown link level"}},
		{"count mxSmlGetDeviceTopology 7", func(n *gpu.Node) { n.Links = nil }, nil},
		{"count mxSmlGetDeviceTopology 0", func(n *gpu.Node) { n.Links[0].Kind = "PIX" }, nil},
	} {
		t.Run(test.fault, func(t *testing.T) {
			want := whole
			want.GPUs, want.Links = append([]gpu.GPU(nil), whole.GPUs...), append([]gpu.Link(nil), whole.Links...)
			test.change(&want)
			got := read(t, run, standin.Build(t, t.TempDir(), n, test.fault)).Node()
			if len(got.Warnings) != len(test.warnings) {
				t.Errorf("warnings are %q, want %q", got.Warnings, test.warnings)
			}
			for i, w := range test.warnings {
				if i < len(got.Warnings) && !strings.Contains(got.Warnings[i], w) {
					t.Errorf("warning is %q, want one with %q", got.Warnings[i], w)
				}
			}
			got.Warnings = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("no device has a text that ends", func(t *testing.T) {
		lib := standin.Build(t, t.TempDir(), n, "endless mxSmlGetDeviceInfo 0")
		got := read(t, run, lib).Node()
		if len(got.GPUs) != 0 || !strings.Contains(strings.Join(got.Warnings, "\n"), "PCI address: mxSmlGetDeviceInfo returned an invalid text") {
			t.Errorf("got %+v", got)
		}
	})
}

// TestVirtual: a GPU that is split into virtual functions has them as slices, and is asked
// nothing that it does not know.
func TestVirtual(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "sim:1x1x2")
	n.GPUs[0].VFs = []gpu.BDF{{Bus: 0x70}, {Bus: 0x71}}
	n.GPUs[0].VFs[0].Function, n.GPUs[0].VFs[1].Function = 1, 1
	a := read(t, run, standin.Build(t, t.TempDir(), n))
	got := a.Node()
	if len(got.GPUs) != 2 || got.GPUs[0].Serial != n.GPUs[0].Serial || len(a.Warnings) > 0 || len(a.Links) > 0 {
		t.Errorf("got %+v, %+v", a, got)
	}
	readings, err := mxsml.Reader{Run: run, Path: standin.Build(t, t.TempDir(), n), Timeout: time.Minute}.Readings(t.Context())
	if err != nil || len(readings) != 2 || readings[0].MemoryTotalMiB != nil || readings[1].MemoryTotalMiB == nil {
		t.Errorf("readings are %+v, %v", readings, err)
	}
	uuid := string(n.GPUs[0].UUID)
	want := []gpu.Slice{
		{Kind: gpu.SliceVF, Index: 0, UUID: uuid + "-vf0", BDF: n.GPUs[0].VFs[0], MemoryMiB: 32768},
		{Kind: gpu.SliceVF, Index: 1, UUID: uuid + "-vf1", BDF: n.GPUs[0].VFs[1], MemoryMiB: 32768},
	}
	if diff := cmp.Diff(want, got.GPUs[0].Slices); diff != "" {
		t.Error(diff)
	}
	for _, fault := range []string{"count mxSmlGetVirtualDevicesByPhysicalId 129", "count mxSmlGetVirtualDevicesByPhysicalId -1"} {
		got := read(t, run, standin.Build(t, t.TempDir(), n, fault)).Node()
		if len(got.Warnings) == 0 || !strings.Contains(got.Warnings[0], "virtual functions: mxSmlGetVirtualDevicesByPhysicalId returned") {
			t.Errorf("%s: warnings are %q", fault, got.Warnings)
		}
	}
}

// TestLimited: a device that the driver does not serve is listed as unhealthy, with the
// reason, also if there is no other.
func TestLimited(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "sim:1x1x3")
	for _, test := range []struct {
		limited string
		healthy []bool
		warning string
	}{
		{"limited 2 101 Layout_Node_Not_Found", []bool{false, true, true}, `GPU 0000:00:00.0 is unhealthy: libmxsml reports "Layout_Node_Not_Found"`},
		{"limited 2 0 -", []bool{false, true, true}, "GPU 0000:00:00.0 is unhealthy: libmxsml lists it as limited: the driver does not serve it"},
		{"limited 2 0 -\nlimited 2 0 -", []bool{false, true, true}, "limited"},
		{"limited 0 100 A\nlimited 1 100 A\nlimited 2 100 A", []bool{false, false, false}, `GPU 0000:00:00.0 is unhealthy: libmxsml reports "A"`},
	} {
		lib := standin.Build(t, t.TempDir(), n)
		text := testfile.Read(t, lib+".txt")
		testfile.Write(t, lib+".txt", append(text, test.limited+"\n"...), 0o644)
		a := read(t, run, lib)
		var healthy []bool
		for _, g := range a.Node().GPUs {
			healthy = append(healthy, g.Healthy)
			if !g.Healthy && (g.UUID != "" || g.Model != n.GPUs[0].Model) {
				t.Errorf("%q: limited GPU is %+v", test.limited, g)
			}
		}
		warnings := strings.Join(a.Node().Warnings, "\n")
		want := strings.ReplaceAll(test.warning, "0000:00:00.0", n.GPUs[0].BDF.String())
		if diff := cmp.Diff(test.healthy, healthy); diff != "" || !strings.Contains(warnings, want) || strings.Count(warnings, "limited") > 1 {
			t.Errorf("%q: health %s, warnings %q", test.limited, diff, warnings)
		}
		for _, h := range a.Health() {
			if wantProblem := h.BDF == n.GPUs[0].BDF || !healthy[2]; wantProblem != (len(h.Problems) > 0) {
				t.Errorf("%q: %s has the problems %+v", test.limited, h.BDF, h.Problems)
			}
		}
	}
	for fault, warning := range map[string]string{
		"code mxSmlGetAllLimitedDevices 4":    "devices that the driver does not serve: mxSmlGetAllLimitedDevices failed: SysfsError (4)",
		"count mxSmlGetAllLimitedDevices 129": "mxSmlGetAllLimitedDevices returned 129",
		"count mxSmlGetAllLimitedDevices -1":  "mxSmlGetAllLimitedDevices returned -1",
		"count mxSmlGetAllLimitedDevices 1":   "",
	} {
		a := read(t, run, standin.Build(t, t.TempDir(), n, fault))
		if got := strings.Join(a.Warnings, "\n"); len(a.Devices) != 3 || warning == "" && got != "" || !strings.Contains(got, warning) {
			t.Errorf("%s: %d devices, warnings %q", fault, len(a.Devices), got)
		}
	}
}

// TestDetails: details are in the answer only if requested.
func TestDetails(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "sim:1x1x2")
	out, err := run(t.Context(), standin.Build(t, t.TempDir(), n), "node", "--details")
	if err != nil {
		t.Fatal(err)
	}
	var a mxsml.Answer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatal(err)
	}
	want := &mxsml.Details{
		Dies: 1, ECC: &gpu.ECC{SRAMCorrected: 1, SRAMUncorrected: 2, DRAMCorrected: 3, DRAMUncorrected: 4, RetiredPages: 5},
		Ports: []mxsml.Port{{GTps: 32, Lanes: 16, Remote: n.GPUs[0].BDF.String()}, {GTps: 32, Lanes: 16}, {GTps: 32, Lanes: 16}, {}, {}, {}, {}},
	}
	if diff := cmp.Diff(want, a.Devices[0].Details); diff != "" {
		t.Error(diff)
	}
}

// TestSlices creates slices, finds them again and removes them.
func TestSlices(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "sim:1x1x2")
	lib := standin.Build(t, t.TempDir(), n)
	r := mxsml.Reader{Run: run, Path: lib, Timeout: time.Minute}
	bdf := n.GPUs[1].BDF
	request := mxsml.SliceRequest{BDF: bdf, Compute: 25, MemoryMiB: 4096, QoS: gpu.QoSFixedShare, Alias: "a.b-1"}
	ctx := t.Context()
	wantError := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error is %v, want one with %q", err, text)
		}
	}
	_, err := r.Create(ctx, request)
	wantError(err, "create a slice of GPU "+bdf.String()) // not in slice mode
	wantError(err, "mxSmlCreateSgpu failed: OperationNotSupport (3)")
	if err := r.SetMode(ctx, bdf, true); err != nil {
		t.Fatal(err)
	}
	want := gpu.Slice{Kind: gpu.SliceSGPU, UUID: string(n.GPUs[1].UUID) + "-0", Alias: "a.b-1", ComputePercent: 25, MemoryMiB: 4096, QoS: gpu.QoSFixedShare}
	got, err := r.Create(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	request.QoS = gpu.QoSBurstShare
	_, err = r.Create(ctx, request)
	wantError(err, `has 1 slices with the QoS "fixed-share"`)
	request.QoS, request.Alias = "", ""
	second, err := r.Create(ctx, request)
	if err != nil || second.Index != 1 || second.QoS != gpu.QoSFixedShare {
		t.Errorf("got %+v, %v", second, err)
	}
	request.Compute = 60
	_, err = r.Create(ctx, request)
	wantError(err, "mxSmlCreateSgpu failed: SysfsWriteError (5)")
	if err := r.Remove(ctx, bdf, strings.ToUpper(want.UUID)); err != nil {
		t.Error(err)
	}
	wantError(r.Remove(ctx, bdf, "0"), "GPU "+bdf.String()+" has no slice 0")
	wantError(r.SetMode(ctx, bdf, false), "BusyDevice (23)")
	g := read(t, run, lib).Node().GPUs[1]
	if diff := cmp.Diff([]gpu.Slice{second}, g.Slices); diff != "" || g.Mode != gpu.ModeSGPU {
		t.Error(g.Mode, diff)
	}
	if err := r.Remove(ctx, bdf, "1"); err != nil {
		t.Error(err)
	}
	if err := r.SetMode(ctx, bdf, false); err != nil {
		t.Error(err)
	}
	if g := read(t, run, lib).Node().GPUs[1]; g.Mode != "" || g.Slices != nil {
		t.Errorf("got %+v", g)
	}
	wantError(r.Remove(ctx, gpu.BDF{Bus: 0xff}, "0"), "libmxsml lists no GPU 0000:ff:00.0")
}

// TestSliceUndone: a slice that does not become as requested is removed again.
func TestSliceUndone(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "c500-1")
	n.GPUs[0].Mode = gpu.ModeSGPU
	for fault, text := range map[string]string{
		"code mxSmlSetSgpuAlias 5":   "mxSmlSetSgpuAlias failed: SysfsWriteError (5)",
		"code mxSmlGetSgpuInfo 4":    "mxSmlGetSgpuInfo failed: SysfsError (4)",
		"endless mxSmlGetSgpuInfo 0": "mxSmlGetSgpuInfo returned an invalid text",
	} {
		lib := standin.Build(t, t.TempDir(), n, fault)
		r := mxsml.Reader{Run: run, Path: lib, Timeout: time.Minute}
		_, err := r.Create(t.Context(), mxsml.SliceRequest{BDF: n.GPUs[0].BDF, Compute: 5, MemoryMiB: 128, Alias: "a"})
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error is %v", fault, err)
		}
		if left, err := os.ReadFile(lib + ".txt"); err != nil || strings.Contains(string(left), "\nslice ") {
			t.Errorf("%s: left %s, %v", fault, left, err)
		}
	}
}
