// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

var (
	bindOptions = []string{"bind", "ro", "nosuid", "nodev", "rprivate"}
	driver      = Mount{HostPath: "/opt/mxdriver", Path: "/opt/mxdriver", Options: bindOptions}
)

func device(path string) Device { return Device{HostPath: path, Path: path, Permissions: "rw"} }

// owned is a device with a group.
func owned(path string, gid uint32) Device {
	d := device(path)
	d.GID = gid
	return d
}

func TestGPUs(t *testing.T) {
	node := gpu.NewNode("two")
	node.Driver = &gpu.Driver{Path: "/opt/mxdriver"}
	node.Shared = &gpu.Shared{Nodes: []string{"/dev/mxgd", "/dev/mxcd", "/dev/mxcd"}, GIDs: []uint32{44}}
	first := gpu.GPU{UUID: "GPU-1", Nodes: []string{"/dev/dri/card1"}, GIDs: []uint32{105, 44, 0}}
	second := gpu.GPU{Index: 1, Nodes: []string{"/dev/dri/card2"}}
	part := gpu.Slice{Kind: gpu.SliceSGPU, UUID: "sgpu-a", Nodes: []string{"/dev/dri/card1", "/dev/mxsgpu4"}, GIDs: []uint32{9}}
	programs, links := []string{"/opt/mxdriver/bin"}, []Link{{Target: "/opt/mxdriver/bin/mx-smi", Path: "/usr/bin/mx-smi", Optional: true}}
	for _, tc := range []struct {
		name      string
		got, want Edits
	}{
		{"nothing", Join(Common(gpu.NewNode(""))), Edits{}},
		{"common", Common(node), Edits{
			Devices: []Device{owned("/dev/mxgd", 44), owned("/dev/mxcd", 44)}, Mounts: []Mount{driver}, Groups: []uint32{44},
			Links: links, Programs: programs,
		}},
		{"two GPUs", Join(GPU(first), GPU(second), Common(node)), Edits{
			Names:   []string{"metax-tech.com/gpu=GPU-1", "metax-tech.com/gpu=1"},
			Devices: []Device{device("/dev/dri/card1"), device("/dev/dri/card2"), owned("/dev/mxgd", 44), owned("/dev/mxcd", 44)},
			Mounts:  []Mount{driver}, Groups: []uint32{44, 105},
			Links: links, Programs: programs,
		}},
		{"a slice, and a GPU with a node of it", Join(Slice(part), GPU(first)), Edits{
			Names:   []string{"metax-tech.com/sgpu=sgpu-a", "metax-tech.com/gpu=GPU-1"},
			Devices: []Device{owned("/dev/dri/card1", 9), owned("/dev/mxsgpu4", 9)}, Groups: []uint32{9, 44, 105},
		}},
		{"nodes of two groups, and one of none", Join(GPU(gpu.GPU{
			Nodes: []string{"/dev/a", "/dev/b", "/dev/c"}, GIDs: []uint32{9, 44}, NodeGIDs: map[string]uint32{"/dev/a": 44, "/dev/b": 9},
		})), Edits{
			Names: []string{"metax-tech.com/gpu=0"}, Devices: []Device{owned("/dev/a", 44), owned("/dev/b", 9), device("/dev/c")}, Groups: []uint32{9, 44},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMACA(t *testing.T) {
	software := Software{
		Path: "/opt/maca", Dir: "/opt/maca-3", Version: "3", Driver: "/opt/mxdriver", Libraries: []string{"/opt/maca/lib"},
		Links:    []LibraryLink{{Name: "libx.so.1", Target: "/opt/maca/lib/libx.so"}},
		Programs: []string{"/opt/maca/bin/mxcc", "/opt/maca/bin/mx-smi", "/opt/maca/mxgpu_llvm/bin/clang", "/opt/maca/mxgpu_llvm/bin/mxcc"},
		Env:      []string{"MACA_PATH=/opt/maca", "MACA_CLANG_PATH=/opt/maca/mxgpu_llvm/bin"},
	}
	got, err := MACA(software, "host")
	if err != nil {
		t.Fatal(err)
	}
	installed := Mount{HostPath: "/opt/maca-3", Path: "/opt/maca-3", Options: bindOptions}
	want := Edits{
		Names: []string{"metax-tech.com/maca=host"}, Env: []string{"MACA_PATH=/opt/maca", "MACA_CLANG_PATH=/opt/maca/mxgpu_llvm/bin"},
		Mounts: []Mount{installed, driver},
		Links: []Link{
			{Target: "/opt/maca-3", Path: "/opt/maca"},
			{Target: "/opt/maca/lib/libx.so", Path: LinkDir + "/libx.so.1"},
			{Target: "/opt/mxdriver/bin/mx-smi", Path: "/usr/bin/mx-smi", Optional: true},
			{Target: "/opt/maca/bin/mxcc", Path: "/usr/bin/mxcc", Optional: true},
			{Target: "/opt/maca/mxgpu_llvm/bin/clang", Path: "/usr/bin/clang", Optional: true},
		},
		Libraries: []string{"/opt/maca/lib", LinkDir},
		Programs:  []string{"/opt/mxdriver/bin", "/opt/maca/bin", "/opt/maca/mxgpu_llvm/bin"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want.Links[0].Optional = true
	if fallback, err := MACAFallback(software, "host"); err != nil || !cmp.Equal(want, fallback) {
		t.Errorf("as a fallback (-want +got), %v:\n%s", err, cmp.Diff(want, fallback))
	}
	atPath := installed
	atPath.Path = "/opt/maca"
	want.Names, want.Links, want.Mounts, want.Libraries = nil, nil, []Mount{installed, atPath, driver}, []string{"/opt/maca/lib"}
	if diff := cmp.Diff(want, got.ByValue()); diff != "" {
		t.Errorf("by value (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Edits{Names: got.Names}, got.ByName()); diff != "" {
		t.Errorf("by name (-want +got):\n%s", diff)
	}
}

func TestBelow(t *testing.T) {
	have := Edits{Devices: []Device{device("/dev/b")}, Mounts: []Mount{driver}}
	want := Edits{
		Devices: []Device{{HostPath: "/r/dev/b", Path: "/dev/b", Permissions: "rw"}},
		Mounts:  []Mount{{HostPath: "/r/opt/mxdriver", Path: "/opt/mxdriver", Options: bindOptions}},
	}
	if diff := cmp.Diff(want, have.Below("/r/")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, root := range []string{"", "/"} {
		if diff := cmp.Diff(have, have.Below(root)); diff != "" {
			t.Errorf("root %q (-want +got):\n%s", root, diff)
		}
	}
}

func TestGPUVariables(t *testing.T) {
	first, second := gpu.GPU{Index: 2, UUID: "GPU-a"}, gpu.GPU{Index: 10, UUID: "GPU-b"}
	for _, tc := range []struct {
		gpus []gpu.GPU
		want []string
	}{
		{nil, nil},
		{[]gpu.GPU{second, first}, []string{"METAX_GPU_UUIDS=GPU-a,GPU-b", "METAX_GPU_INDICES=2,10"}},
		{[]gpu.GPU{first, {Index: 3}}, []string{"METAX_GPU_INDICES=2,3"}},
	} {
		if diff := cmp.Diff(tc.want, GPUVariables(tc.gpus)); diff != "" {
			t.Error(diff)
		}
	}
}
