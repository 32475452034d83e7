// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// divided is node with two divided GPUs: the second is in slice mode, the third has
// virtual functions.
func divided() []gpu.GPU {
	gpus := node()
	gpus[1].Mode = gpu.ModeSGPU
	gpus[1].Slices = []gpu.Slice{
		{Kind: gpu.SliceSGPU, Index: 0, UUID: "SGPU-aaaa"},
		{Kind: gpu.SliceSGPU, Index: 3, UUID: "SGPU-bbbb"},
		{Kind: gpu.SliceSGPU, Index: 4},
	}
	vf := func(f uint8) gpu.BDF { return gpu.BDF{Bus: 0x35, Function: f} }
	gpus[2].VFs = []gpu.BDF{vf(1), vf(2)}
	gpus[2].Slices = []gpu.Slice{
		{Kind: gpu.SliceVF, Index: 0, BDF: vf(1)},
		{Kind: gpu.SliceVF, Index: 1, BDF: vf(2), UUID: "VF-2"},
	}
	return gpus
}

func TestResolveSlices(t *testing.T) {
	shuffled := divided()
	shuffled[0], shuffled[1], shuffled[2] = shuffled[2], shuffled[0], shuffled[1]
	for _, tt := range []struct {
		name, in string
		gpus     []gpu.GPU
		want     []SliceRef
	}{
		{"by UUID", "[sgpu:SGPU-bbbb]", divided(), []SliceRef{{1, 1}}},
		{"in other case", "sgpu:sgpu-BBBB", divided(), []SliceRef{{1, 1}}},
		{"by address", "sgpu:0000:35:00.1", divided(), []SliceRef{{2, 0}}},
		{"by address without domain", "[sgpu:35:00.2]", divided(), []SliceRef{{2, 1}}},
		{"by UUID of a VF", "[sgpu:VF-2]", divided(), []SliceRef{{2, 1}}},
		{"by CDI name", "metax-tech.com/sgpu=SGPU-aaaa", divided(), []SliceRef{{1, 0}}},
		{"in order", "[sgpu:VF-2,sgpu:SGPU-bbbb,sgpu:35:00.1,sgpu:SGPU-aaaa]", divided(), []SliceRef{{1, 0}, {1, 1}, {2, 0}, {2, 1}}},
		{"positions, not indices", "[sgpu:VF-2,sgpu:SGPU-aaaa]", shuffled, []SliceRef{{2, 0}, {0, 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Resolve(tt.gpus)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(Selection{Slices: tt.want}, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	if _, err := (Request{IDs: []string{"SGPU-bbbb"}}).Resolve(divided()); err == nil || err.Error() != `"SGPU-bbbb" is not a GPU, but sGPU 3 of GPU 1: use sgpu:SGPU-bbbb` {
		t.Errorf("the UUID of a slice: %v", err)
	}
	// A divided GPU is still found by its own names.
	if got, err := (Request{IDs: []string{"1"}}).Resolve(divided()[:3]); err != nil || !cmp.Equal(got, Selection{Explicit: []int{1}}) {
		t.Errorf("GPU 1: %v, %v", got, err)
	}
}

func TestResolveSlicesRefuses(t *testing.T) {
	twins := divided()
	twins[1].Slices[1].UUID = "SGPU-AAAA"
	many := []gpu.GPU{{Index: 0}}
	for _, u := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		many[0].Slices = append(many[0].Slices, gpu.Slice{Kind: gpu.SliceSGPU, UUID: u})
	}
	for _, tt := range []struct {
		name, in string
		gpus     []gpu.GPU
		msg      string
	}{
		{
			"unknown", "sgpu:x", divided(),
			`"x" is not a slice; this node has SGPU-aaaa, SGPU-bbbb, 0000:35:00.1, VF-2 (metax-ctk sgpu list)`,
		},
		{
			"of many", "sgpu:x", many,
			`"x" is not a slice; this node has a, b, c, d, e, f, g, h and 2 more (metax-ctk sgpu list)`,
		},
		{
			"none", "sgpu:GPU-aaaa", node(),
			`"GPU-aaaa" is not a slice; this node has no slice (metax-ctk sgpu create makes one)`,
		},
		{
			"the UUID of a GPU", "sgpu:GPU-aaaa", divided(),
			`"GPU-aaaa" is not a slice; this node has SGPU-aaaa, SGPU-bbbb, 0000:35:00.1, VF-2 (metax-ctk sgpu list)`,
		},
		{
			"two with one UUID", "sgpu:SGPU-aaaa", twins,
			`slice "SGPU-aaaa" is ambiguous: sGPU 0 of GPU 1 or sGPU 3 of GPU 1 (metax-ctk sgpu list)`,
		},
		{
			"one by two names", "[sgpu:VF-2,sgpu:0000:35:00.2]", divided(),
			`slice "VF-2" and slice "0000:35:00.2": both are virtual function 0000:35:00.2 of GPU 2; name it once`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Resolve(tt.gpus)
			if err == nil {
				t.Fatalf("resolved to %v", got)
			}
			if d := cmp.Diff(tt.msg, err.Error()); d != "" {
				t.Errorf("message -want +got:\n%s", d)
			}
		})
	}
}
