// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestDecodeSlices(t *testing.T) {
	got, err := gpu.DecodeNode(document(`"gpus": [
		{"index": 0, "bdf": "0000:0e:00.0", "mode": "sgpu", "slices": [
			{"kind": "sgpu", "index": 7, "uuid": "b"},
			{"kind": "sgpu", "index": 2, "uuid": "a", "alias": "one two", "computePercent": 25, "memoryMiB": 4096, "qos": "burst-share", "nodes": ["/dev/dri/renderD128"], "gids": [44]}]},
		{"index": 1, "bdf": "0000:0f:00.0", "vfs": ["0000:0f:00.1", "0000:0f:00.2"], "slices": [
			{"kind": "vf", "index": 1, "bdf": "0000:0f:00.2"}, {"kind": "vf", "index": 0, "bdf": "0000:0f:00.1"}]},
		{"index": 2, "bdf": "0000:10:00.0"}]`))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]gpu.Slice{
		{
			{Kind: gpu.SliceSGPU, Index: 2, UUID: "a", Alias: "one two", ComputePercent: 25, MemoryMiB: 4096, QoS: gpu.QoSBurstShare, Nodes: []string{"/dev/dri/renderD128"}, GIDs: []uint32{44}},
			{Kind: gpu.SliceSGPU, Index: 7, UUID: "b"},
		},
		{
			{Kind: gpu.SliceVF, Index: 0, BDF: gpu.BDF{Bus: 0x0f, Function: 1}},
			{Kind: gpu.SliceVF, Index: 1, BDF: gpu.BDF{Bus: 0x0f, Function: 2}},
		},
		nil,
	}
	for i, g := range got.GPUs {
		if diff := cmp.Diff(want[i], g.Slices); diff != "" {
			t.Errorf("GPU %d (-want +got):\n%s", i, diff)
		}
	}
	if diff := cmp.Diff([]int{2}, got.Healthy()); diff != "" {
		t.Errorf("GPUs to be given whole (-want +got):\n%s", diff)
	}
	parts := []string{got.GPUs[0].Parts(), got.GPUs[1].Parts(), got.GPUs[2].Parts()}
	if diff := cmp.Diff([]string{"sgpu: 2 slices", "sriov: 2 VFs", ""}, parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	again, err := gpu.DecodeNode(data)
	if diff := cmp.Diff(got, again); diff != "" || err != nil {
		t.Errorf("read back: %v (-want +got):\n%s", err, diff)
	}
}

func TestDecodeSlicesRejects(t *testing.T) {
	sgpu := func(slices string) string {
		return `"gpus": [{"index": 0, "bdf": "0000:0e:00.0", "mode": "sgpu", "slices": [` + slices + `]}]`
	}
	vf := func(slices string) string {
		return `"gpus": [{"index": 0, "bdf": "0000:0e:00.0", "vfs": ["0000:0e:00.1", "0000:0e:00.0"], "slices": [` + slices + `]}]`
	}
	var many []string
	for i := range gpu.MaxSlices + 1 {
		many = append(many, fmt.Sprintf(`{"kind": "sgpu", "index": %d}`, i))
	}
	for _, test := range []struct{ name, members, want string }{
		{"unknown mode", `"gpus": [{"index": 0, "mode": "mig"}]`, `mode "mig"`},
		{"an sGPU of a whole GPU", `"gpus": [{"index": 0, "slices": [{"kind": "sgpu", "index": 0}]}]`, "its mode is not"},
		{"an sGPU with an address", sgpu(`{"kind": "sgpu", "index": 0, "bdf": "0000:0e:00.1"}`), "sGPU 0 has a PCI address"},
		{"a VF of nobody", vf(`{"kind": "vf", "index": 0, "bdf": "0000:0e:00.3"}`), "0000:0e:00.3 is not one of its virtual functions"},
		{"a VF without address", vf(`{"kind": "vf", "index": 0}`), "is not one of its virtual functions"},
		{"a VF at the address of its GPU", vf(`{"kind": "vf", "index": 0, "bdf": "0000:0e:00.0"}`), "0000:0e:00.0 occurs twice"},
		{"one VF twice", vf(`{"kind": "vf", "index": 0, "bdf": "0000:0e:00.1"}, {"kind": "vf", "index": 1, "bdf": "0000:0e:00.1"}`), "0000:0e:00.1 occurs twice"},
		{"unknown kind", sgpu(`{"kind": "mig", "index": 0}`), `slice of kind "mig"`},
		{"no kind", sgpu(`{"index": 0}`), `slice of kind ""`},
		{"index twice", sgpu(`{"kind": "sgpu", "index": 3}, {"kind": "sgpu", "index": 3}`), "has index 3"},
		{"index below 0", sgpu(`{"kind": "sgpu", "index": -1}`), "has index -1"},
		{"index too large", sgpu(`{"kind": "sgpu", "index": 4096}`), "has index 4096"},
		{"too many", sgpu(strings.Join(many, ",")), "at most 16"},
		{"no UUID", sgpu(`{"kind": "sgpu", "index": 0, "uuid": "a,b"}`), `"a,b" is not a UUID`},
		{"UUID with a newline", sgpu(`{"kind": "sgpu", "index": 0, "uuid": "a\nb"}`), `"a\nb" is not a UUID`},
		{"UUID twice", sgpu(`{"kind": "sgpu", "index": 0, "uuid": "ab"}, {"kind": "sgpu", "index": 1, "uuid": "AB"}`), "two slices have the UUID AB"},
		{
			"UUID twice on two GPUs", `"gpus": [{"index": 0, "mode": "sgpu", "slices": [{"kind": "sgpu", "index": 0, "uuid": "a"}]},
			 {"index": 1, "mode": "sgpu", "slices": [{"kind": "sgpu", "index": 0, "uuid": "a"}]}]`, "two slices have the UUID a",
		},
		{"control characters in an alias", sgpu(`{"kind": "sgpu", "index": 0, "alias": "a\u001b[2J"}`), "has control characters"},
		{"compute below 0", sgpu(`{"kind": "sgpu", "index": 0, "computePercent": -1}`), "-1 percent"},
		{"compute above 100", sgpu(`{"kind": "sgpu", "index": 0, "computePercent": 101}`), "101 percent"},
		{"memory below 0", sgpu(`{"kind": "sgpu", "index": 0, "memoryMiB": -1}`), "-1 MiB"},
		{"unknown QoS", sgpu(`{"kind": "sgpu", "index": 0, "qos": "gold"}`), `QoS class "gold"`},
		{"node outside /dev", sgpu(`{"kind": "sgpu", "index": 0, "nodes": ["/dev/../etc/passwd"]}`), `device node "/dev/../etc/passwd"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if n, err := gpu.DecodeNode(document(test.members)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v; want an error with %q", n.GPUs, err, test.want)
			}
		})
	}
}

func TestSlice(t *testing.T) {
	vf := gpu.BDF{Bus: 1, Function: 2}
	for want, s := range map[string]gpu.Slice{
		"a": {UUID: "a", BDF: vf}, "0000:01:00.2": {BDF: vf}, "": {Kind: gpu.SliceSGPU},
	} {
		if got := s.Name(); got != want {
			t.Errorf("%+v is called %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]bool{
		"a": true, "0-a": true, "SGPU-3fd4ee8f-169c": true, strings.Repeat("a", 93): true,
		"": false, "-a": false, "a b": false, "a,b": false, "a\n": false, "é": false, "a/b": false, strings.Repeat("a", 94): false,
	} {
		if got := gpu.ValidSliceUUID(s); got != want {
			t.Errorf("ValidSliceUUID(%q) = %v", s, got)
		}
	}
}
