// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
)

// virtual makes a node of which each GPU has so many virtual functions.
func virtual(t testing.TB, gpus, vfs int) gpu.Node {
	t.Helper()
	node := gpu.NewNode("vfs")
	for i := range gpus {
		g := gpu.GPU{
			Index: i, UUID: gpu.UUID(fmt.Sprintf("GPU-%d", i)), BDF: gpu.BDF{Bus: uint8(i + 1)}, Healthy: true, NUMA: gpu.NUMAUnknown,
			Nodes: []string{fmt.Sprintf("/dev/dri/card%d", i)}, SRIOV: gpu.SRIOVOn,
		}
		for v := range vfs {
			bdf := gpu.BDF{Bus: uint8(i + 1), Function: uint8(v + 1)}
			g.VFs = append(g.VFs, bdf)
			g.Slices = append(g.Slices, gpu.Slice{Kind: gpu.SliceVF, Index: v, BDF: bdf, Nodes: []string{fmt.Sprintf("/dev/dri/card%d%d", i+1, v)}})
		}
		node.GPUs = append(node.GPUs, g)
	}
	if _, warnings := topology.New(node); len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return node
}

// lines is an Answer for people.
func lines(a Answer) (list []string) {
	for _, name := range a.CDI {
		list = append(list, "cdi "+name)
	}
	for _, d := range a.Devices {
		list = append(list, fmt.Sprintf("device %s %s %s", d.HostPath, d.Path, d.Permissions))
	}
	for _, m := range a.Mounts {
		list = append(list, fmt.Sprintf("mount %s %s %t", m.HostPath, m.Path, m.ReadOnly()))
	}
	for _, name := range []string{edits.UUIDsVariable, edits.IndicesVariable, "MACA_PATH", "LD_LIBRARY_PATH"} {
		if v, ok := a.Env[name]; ok {
			list = append(list, name+"="+v)
		}
	}
	return list
}

func TestAllocate(t *testing.T) {
	node, _ := simulated(t, "c500-8")
	maca := edits.Software{
		Path: "/opt/maca", Dir: "/opt/maca-3", Libraries: []string{"/opt/maca/lib"}, Env: []string{"MACA_PATH=/opt/maca"},
		Links: []edits.LibraryLink{{Name: "libx.so.1", Target: "/opt/maca/lib/libx.so"}},
	}
	u := func(i int) string { return string(node.GPUs[i].UUID) }
	vfs := virtual(t, 2, 2)
	for _, test := range []struct {
		name string
		node gpu.Node
		ids  string
		form Form
		want []string
	}{
		{"CDI, sorted", node, "5 4", Form{CDI: true}, []string{
			"cdi metax-tech.com/gpu=" + u(4), "cdi metax-tech.com/gpu=" + u(5),
			"METAX_GPU_UUIDS=" + u(4) + "," + u(5), "METAX_GPU_INDICES=4,5",
		}},
		{"CDI with MXMACA", node, "0", Form{CDI: true, MACA: true}, []string{
			"cdi metax-tech.com/gpu=" + u(0), "cdi metax-tech.com/maca=host",
			"METAX_GPU_UUIDS=" + u(0), "METAX_GPU_INDICES=0",
		}},
		{"CDI with MXMACA unless the image has it", node, "0", Form{CDI: true, MACA: true, Fallback: true}, []string{
			"cdi metax-tech.com/gpu=" + u(0), "cdi metax-tech.com/maca=fallback-3.3.0.15",
			"METAX_GPU_UUIDS=" + u(0), "METAX_GPU_INDICES=0",
		}},
		{"device nodes", node, "1", Form{}, []string{
			"device /dev/dri/card2 /dev/dri/card2 rw", "device /dev/dri/renderD129 /dev/dri/renderD129 rw",
			"device /dev/mxcd /dev/mxcd rw",
			"mount /opt/mxdriver /opt/mxdriver true", "METAX_GPU_UUIDS=" + u(1), "METAX_GPU_INDICES=1",
		}},
		{"device nodes of a tree, with MXMACA", vfs, "0", Form{EngineRoot: "/tree", MACA: true, Software: maca}, []string{
			"device /tree/dev/dri/card10 /dev/dri/card10 rw",
			"mount /tree/opt/maca-3 /opt/maca-3 true", "mount /tree/opt/maca-3 /opt/maca true",
			"MACA_PATH=/opt/maca", "LD_LIBRARY_PATH=/opt/maca/lib",
		}},
		{"virtual functions", vfs, "3 0", Form{CDI: true}, []string{
			"cdi metax-tech.com/sgpu=0000:01:00.1", "cdi metax-tech.com/sgpu=0000:02:00.2",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := devices(test.node)
			got, err := New(test.node, all, nil).Allocate(ids(all, test.ids), test.form)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, lines(got)); diff != "" {
				t.Error(diff)
			}
			if len(got.CDI) > 0 && len(got.Devices)+len(got.Mounts) > 0 {
				t.Error("both CDI names and devices")
			}
		})
	}
}

func TestAllocateRefuses(t *testing.T) {
	node, all := simulated(t, "c500-8", 3)
	gone := append([]inventory.Device{}, all...)
	gone[5].GPU, gone[5].Healthy, gone[5].Code, gone[5].Reason = -1, false, health.Missing, "it is gone from the PCI bus"
	bare := node
	bare.GPUs = append([]gpu.GPU{}, node.GPUs...)
	bare.GPUs[6].Nodes = nil
	for _, test := range []struct {
		name    string
		node    gpu.Node
		devices []inventory.Device
		ids     []string
		want    string
	}{
		{"unknown", node, all, []string{"GPU-x\n"}, `"GPU-x\n" is not a GPU of this node`},
		{"unhealthy", node, all, ids(all, "2 3"), "GPU 3 (" + all[3].ID + ", " + all[3].BDF.String() + ") is unhealthy: "},
		{"gone", node, gone, ids(all, "4 5"), "GPU " + all[5].ID + " is unhealthy: it is gone from the PCI bus (missing)"},
		{"no nodes", bare, all, ids(all, "6"), "GPU 6 (" + all[6].ID + ", " + all[6].BDF.String() + ") has no device nodes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, err := New(test.node, test.devices, nil).Allocate(test.ids, Form{CDI: true})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, %v; want %s", a, err, test.want)
			}
		})
	}
}

// A GPU of unknown health is given: nobody says that it is broken, and the kubelet asks only
// in the moment in which it gets to know it.
func TestAllocateUnknownHealth(t *testing.T) {
	node, all := simulated(t, "c500-8")
	all[0].Healthy, all[0].Reason = false, "no answer"
	if _, err := New(node, all, nil).Allocate(ids(all, "0"), Form{CDI: true}); err != nil {
		t.Error(err)
	}
}

// FuzzAllocate gives devices that are known, and names the first that is not.
func FuzzAllocate(f *testing.F) {
	node, all := simulated(f, "c500-8", 3)
	s := New(node, all, nil)
	f.Add(strings.Join(ids(all, "0 1"), " "))
	f.Add("GPU-\x1b[2J")
	f.Add(strings.Repeat("GPU-a", 1000))
	f.Fuzz(func(t *testing.T, text string) {
		asked := strings.Fields(text)
		a, err := s.Allocate(asked, Form{CDI: true})
		if err != nil {
			if len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		for _, name := range a.CDI {
			if id := strings.TrimPrefix(name, "metax-tech.com/gpu="); !strings.Contains(text, id) {
				t.Errorf("%s is given, but the question does not name it", name)
			}
		}
	})
}
