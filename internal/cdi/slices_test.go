// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/test/golden"
)

// dividedGPUs is twoGPUs with a third in slice mode and a fourth with virtual
// functions, of which the last is for a virtual machine.
func dividedGPUs() gpu.Node {
	n := twoGPUs()
	vf := func(f uint8) gpu.BDF { return gpu.BDF{Bus: 0x91, Function: f} }
	n.GPUs = append(n.GPUs,
		gpu.GPU{
			Index: 2, UUID: "GPU-2", BDF: gpu.BDF{Bus: 0x90}, Healthy: true, Mode: gpu.ModeSGPU,
			Nodes: []string{"/dev/dri/card11", "/dev/dri/renderD138"}, GIDs: []uint32{44},
			Slices: []gpu.Slice{
				{Kind: gpu.SliceSGPU, Index: 0, UUID: "sgpu-a", Nodes: []string{"/dev/dri/renderD138"}, GIDs: []uint32{105}},
				{Kind: gpu.SliceSGPU, Index: 4, UUID: "sgpu-b", Alias: "night", Nodes: []string{"/dev/dri/renderD138", "/dev/mxsgpu4"}, GIDs: []uint32{105, 44}},
				{Kind: gpu.SliceSGPU, Index: 5, Nodes: []string{"/dev/dri/renderD138"}},
			},
		},
		gpu.GPU{
			Index: 3, BDF: gpu.BDF{Bus: 0x91}, Healthy: true, VFs: []gpu.BDF{vf(1), vf(2), vf(3)},
			Nodes: []string{"/dev/dri/card12", "/dev/dri/renderD139"},
			Slices: []gpu.Slice{
				{Kind: gpu.SliceVF, Index: 0, BDF: vf(1), Nodes: []string{"/dev/dri/card13", "/dev/dri/renderD140"}, GIDs: []uint32{44}},
				{Kind: gpu.SliceVF, Index: 1, BDF: vf(2), UUID: "vf-b", Nodes: []string{"/dev/dri/card14", "/dev/dri/renderD141"}},
				{Kind: gpu.SliceVF, Index: 2, BDF: vf(3)},
			},
		})
	return n
}

func sliced(t *testing.T, n gpu.Node, opt Options) *specs.Spec {
	t.Helper()
	spec, err := GenerateSlices(n, opt)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func namesIn(spec *specs.Spec) (names []string) {
	for _, d := range spec.Devices {
		names = append(names, d.Name)
	}
	return names
}

func TestSlicesGolden(t *testing.T) {
	golden.Equal(t, "testdata/slices.json", encoded(t, sliced(t, dividedGPUs(), Options{Hook: hook}), JSON))
	golden.Equal(t, "testdata/slices-rooted.yaml", encoded(t, sliced(t, dividedGPUs(), Options{EngineRoot: "/srv/node", NoGroups: true, Vendor: "example.org", Class: "part", Names: ByIndex}), YAML))
	shuffled := dividedGPUs()
	slices.Reverse(shuffled.GPUs)
	if diff := cmp.Diff(encoded(t, sliced(t, dividedGPUs(), Options{}), JSON), encoded(t, sliced(t, shuffled, Options{}), JSON)); diff != "" {
		t.Error(diff)
	}
}

// TestDivided holds that a divided GPU is not a device, nor a part of "all", and that its
// missing nodes keep no spec of whole GPUs from being written.
func TestDivided(t *testing.T) {
	want := generated(t, twoGPUs(), Options{})
	if diff := cmp.Diff(want, generated(t, dividedGPUs(), Options{})); diff != "" {
		t.Errorf("with divided GPUs (-without +with):\n%s", diff)
	}
	n := dividedGPUs()
	n.GPUs[2].Nodes, n.GPUs[3].Nodes = nil, nil
	if diff := cmp.Diff(want, generated(t, n, Options{})); diff != "" {
		t.Errorf("with divided GPUs without nodes (-without +with):\n%s", diff)
	}
	if _, missing := wholeGPUs(n); len(missing) != 0 {
		t.Errorf("missing %v", missing)
	}
	n.GPUs[1].Nodes = nil
	_, err := Generate(n, Options{})
	if incomplete := (*IncompleteError)(nil); !errors.As(err, &incomplete) || incomplete.Error() != "1 of 2 GPUs have no device nodes: 0000:8f:00.0" {
		t.Errorf("a whole GPU without nodes: %v", err)
	}
	n.GPUs = n.GPUs[2:]
	n.GPUs[0].Index, n.GPUs[1].Index = 0, 1
	if spec, err := Generate(n, Options{Partial: true}); !errors.Is(err, ErrDivided) || spec != nil {
		t.Errorf("only divided GPUs: %v, %v", spec, err)
	}
}

func TestSlicesIncomplete(t *testing.T) {
	n := dividedGPUs()
	n.GPUs[2].Slices[0].Nodes = nil
	_, err := GenerateSlices(n, Options{})
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || incomplete.Error() != "1 of 2 GPUs have no device nodes: 0000:90:00.0" {
		t.Errorf("error %v", err)
	}
	want := []string{"sgpu-b", "0000:91:00.1", "vf-b", "0000:91:00.2"}
	if diff := cmp.Diff(want, namesIn(sliced(t, n, Options{Partial: true}))); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
	for name, edit := range map[string]func(*gpu.Node){
		"no GPU":        func(n *gpu.Node) { n.GPUs = nil },
		"only whole":    func(n *gpu.Node) { n.GPUs = n.GPUs[:2] },
		"no names":      func(n *gpu.Node) { n.GPUs = n.GPUs[:3]; n.GPUs[2].Slices = n.GPUs[2].Slices[2:] },
		"for a machine": func(n *gpu.Node) { n.GPUs[2].Slices, n.GPUs[3].Slices = nil, n.GPUs[3].Slices[2:] },
	} {
		n := dividedGPUs()
		edit(&n)
		if spec, err := GenerateSlices(n, Options{}); !errors.Is(err, ErrNoSlices) || spec != nil {
			t.Errorf("%s: %v, %v", name, spec, err)
		}
	}
	n.GPUs[2].Slices[0].UUID = "sgpu-b"
	if _, err := GenerateSlices(n, Options{Partial: true}); !errors.Is(err, gpu.ErrNode) {
		t.Errorf("one UUID twice: %v", err)
	}
}

// TestSlicesCheckDiff has Check and Diff on the spec of slices.
func TestSlicesCheckDiff(t *testing.T) {
	spec := sliced(t, dividedGPUs(), Options{})
	dir, host := tree(t)
	for i, name := range []string{"card13", "card14", "renderD140", "renderD141", "renderD138"} {
		put(t, filepath.Join(dir, "dev/dri", name), string(hostfs.Placeholder(hostfs.Device{Major: 226, Minor: uint32(100 + i)})), 0o644)
	}
	want := []Problem{{Code: CodeNode, Subject: "/dev/mxsgpu4", Devices: []string{"sgpu-b"}, Message: "no such device node"}}
	if diff := cmp.Diff(want, Check(spec, host, "")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(dir, "dev/dri/renderD138")); err != nil {
		t.Fatal(err)
	}
	if found := Check(spec, host, ""); len(found) != 2 || !slices.Equal(found[0].Devices, []string{"sgpu-a", "sgpu-b"}) {
		t.Errorf("problems without the render node: %v", found)
	}
	n := dividedGPUs()
	n.GPUs[2].Slices = append(n.GPUs[2].Slices[1:], gpu.Slice{Kind: gpu.SliceSGPU, Index: 6, UUID: "sgpu-c", Nodes: []string{"/dev/dri/renderD138"}})
	n.GPUs[3].Slices[1].Nodes = []string{"/dev/dri/card14", "/dev/dri/renderD142"}
	var lines []string
	for _, d := range Diff(spec, sliced(t, n, Options{})) {
		lines = append(lines, d.String())
	}
	if diff := cmp.Diff([]string{
		"+ device sgpu-c",
		"- device vf-b: deviceNodes /dev/dri/renderD141", "+ device vf-b: deviceNodes /dev/dri/renderD142",
		"- device 0000:91:00.2: deviceNodes /dev/dri/renderD141", "+ device 0000:91:00.2: deviceNodes /dev/dri/renderD142",
		"- device sgpu-a",
	}, lines); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}
