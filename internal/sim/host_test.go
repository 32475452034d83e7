// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"encoding/json"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs/hosttree"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func hostTree(t testing.TB, n gpu.Node) sim.Tree {
	t.Helper()
	tree, err := sim.HostTree(n)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestHostTreeGolden(t *testing.T) {
	tree := hostTree(t, simtest.Node(t, "c500-1"))
	golden.Equal(t, "testdata/c500-1.txtar", tree.Format())
	again, err := hosttree.Parse(tree.Format())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree, again); diff != "" {
		t.Errorf("golden file read back (-want +got):\n%s", diff)
	}
}

// TestHostTreeLinks follows every link inside the tree, as a chroot would.
func TestHostTreeLinks(t *testing.T) {
	for _, name := range append(sim.Names(), "sim:2x2x4") {
		tree := hostTree(t, simtest.Node(t, name))
		dirs := map[string]bool{".": true}
		for p := range tree {
			for d := path.Dir(p); !dirs[d]; d = path.Dir(d) {
				dirs[d] = true
			}
		}
		links := 0
		for p, e := range tree {
			l, ok := e.(sim.Link)
			if !ok {
				continue
			}
			links++
			target := path.Join(path.Dir(p), string(l))
			if path.IsAbs(string(l)) {
				target = path.Clean(string(l)[1:])
			}
			if _, file := tree[target]; !file && !dirs[target] {
				t.Errorf("%s: %s leads to %s, which is not there", name, p, target)
			}
		}
		if links == 0 {
			t.Errorf("%s has no links", name)
		}
	}
}

// TestHostTreePlace checks the positions of a GPU and its neighbours in sysfs.
func TestHostTreePlace(t *testing.T) {
	tree := hostTree(t, simtest.Node(t, "c500-8"))
	const (
		side = "sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0"
		gpu0 = side + "/0000:0d:00.0/0000:0e:00.0"
	)
	for p, want := range map[string]sim.Entry{
		"sys/bus/pci/devices/0000:0e:00.0":        sim.Link("../../../devices/" + strings.TrimPrefix(gpu0, "sys/devices/")),
		"sys/bus/pci/drivers/metax/0000:0e:00.0":  sim.Link("../../../../devices/" + strings.TrimPrefix(gpu0, "sys/devices/")),
		"sys/module/metax/drivers/pci:metax":      sim.Link("../../../bus/pci/drivers/metax"),
		"sys/module/metax/version":                sim.File{Data: "3.4.4\n"},
		gpu0 + "/vendor":                          sim.File{Data: "0x9999\n"},
		gpu0 + "/device":                          sim.File{Data: "0x4001\n"},
		gpu0 + "/class":                           sim.File{Data: "0x038000\n"},
		gpu0 + "/numa_node":                       sim.File{Data: "0\n"},
		gpu0 + "/local_cpulist":                   sim.File{Data: "0-31,64-95\n"},
		gpu0 + "/drm/card1/dev":                   sim.File{Data: "226:1\n"},
		gpu0 + "/drm/renderD128/device":           sim.Link("../.."),
		"sys/class/drm/renderD128":                sim.Link("../../devices/" + strings.TrimPrefix(gpu0, "sys/devices/") + "/drm/renderD128"),
		"sys/dev/char/226:128":                    sim.Link("../../devices/" + strings.TrimPrefix(gpu0, "sys/devices/") + "/drm/renderD128"),
		"dev/dri/renderD128":                      sim.Device{Major: 226, Minor: 128, Perm: 0o660, GID: 44},
		"dev/dri/by-path/pci-0000:0e:00.0-render": sim.Link("../renderD128"),
		"dev/dri/card0":                           sim.Device{Major: 226, Perm: 0o660, GID: 44},
		"dev/mxcd":                                sim.Device{Major: 511, Perm: 0o660, GID: 44},
		side + "/class":                           sim.File{Data: "0x060400\n"},
		side + "/secondary_bus_number":            sim.File{Data: "13\n"},
		side + "/subordinate_bus_number":          sim.File{Data: "18\n"},
		side + "/0000:0d:03.0/0000:11:00.0/class": sim.File{Data: "0x020000\n"},
		"sys/devices/pci0000:0a/0000:0a:01.0/0000:0b:00.0/drm/card0/dev": sim.File{Data: "226:0\n"},
		"sys/devices/system/node/node1/cpulist":                          sim.File{Data: "32-63,96-127\n"},
		"opt/maca":                                                       sim.Link("/opt/maca-3.3.0.15"),
		"opt/maca-3.3.0.15/Version.txt":                                  sim.File{Data: "Version:3.3.0.15\n"},
		"sys/devices/virtual/mxcd/mxcd/uevent":                           sim.File{Data: "MAJOR=511\nMINOR=0\nDEVNAME=mxcd\n"},
	} {
		if diff := cmp.Diff(want, tree[p]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p, diff)
		}
	}
}

// TestHostTreeVF divides a GPU into two virtual functions.
func TestHostTreeVF(t *testing.T) {
	n := simtest.Node(t, "c500-1")
	n.GPUs[0].VFs = []gpu.BDF{gputest.BDF(t, "0000:01:00.1"), gputest.BDF(t, "0000:01:00.2")}
	tree := hostTree(t, n)
	const dir = "sys/devices/pci0000:00/0000:00:01.0/"
	for p, want := range map[string]sim.Entry{
		dir + "0000:01:00.0/sriov_totalvfs": sim.File{Data: "8\n"},
		dir + "0000:01:00.0/sriov_numvfs":   sim.File{Data: "2\n"},
		dir + "0000:01:00.0/virtfn0":        sim.Link("../0000:01:00.1"),
		dir + "0000:01:00.0/virtfn1":        sim.Link("../0000:01:00.2"),
		dir + "0000:01:00.2/physfn":         sim.Link("../0000:01:00.0"),
		dir + "0000:01:00.2/vendor":         sim.File{Data: "0x9999\n"},
		dir + "0000:01:00.2/driver":         nil,
		"sys/bus/pci/devices/0000:01:00.2":  sim.Link("../../../devices/pci0000:00/0000:00:01.0/0000:01:00.2"),
	} {
		if diff := cmp.Diff(want, tree[p]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p, diff)
		}
	}
}

// TestHostTreeBare uses a minimal Node.
func TestHostTreeBare(t *testing.T) {
	n := gpu.NewNode("bare")
	n.GPUs = []gpu.GPU{{BDF: gputest.BDF(t, "0000:0e:00.0"), NUMA: gpu.NUMAUnknown}}
	tree := hostTree(t, n)
	if want := sim.Link("../../../devices/pci0000:0e/0000:0e:00.0"); tree["sys/bus/pci/devices/0000:0e:00.0"] != want {
		t.Errorf("the GPU is at %v, want %v", tree["sys/bus/pci/devices/0000:0e:00.0"], want)
	}
	for p := range tree {
		for _, absent := range []string{"dev/dri", "dev/mxcd", "opt/", "usr/", "sys/module/", "sys/bus/pci/drivers/metax"} {
			if strings.HasPrefix(p, absent) {
				t.Errorf("%s is there", p)
			}
		}
	}
}

// TestHostTreeSwitchOnly has GPUs for which only the switch is known.
func TestHostTreeSwitchOnly(t *testing.T) {
	up := gputest.BDF(t, "0000:0c:00.0")
	n := gpu.NewNode("switch")
	for i, b := range []string{"0000:0e:00.0", "0000:0f:00.0"} {
		n.GPUs = append(n.GPUs, gpu.GPU{Index: i, BDF: gputest.BDF(t, b), PCIeSwitch: &up})
	}
	tree := hostTree(t, n)
	for p, want := range map[string]sim.Link{
		"sys/bus/pci/devices/0000:0e:00.0": "../../../devices/pci0000:0b/0000:0b:01.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00.0",
		"sys/bus/pci/devices/0000:0f:00.0": "../../../devices/pci0000:0b/0000:0b:01.0/0000:0c:00.0/0000:0d:01.0/0000:0f:00.0",
	} {
		if tree[p] != sim.Entry(want) {
			t.Errorf("%s is %v, want %v", p, tree[p], want)
		}
	}
}

func TestHostTreeErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(n *gpu.Node)
		is     error
		want   string
	}{
		{"no address", func(n *gpu.Node) { n.GPUs[1].BDF = gpu.BDF{} }, sim.ErrHost, `GPU 1: impossible host: no PCI address`},
		{"wrong kind", func(n *gpu.Node) { n.Kind = "Pod" }, gpu.ErrNode, "Pod"},
		{"host bridge is a path", func(n *gpu.Node) { n.GPUs[0].PCIeRoot = "../../../etc" }, sim.ErrHost, `host bridge "../../../etc"`},
		{"bridge in two places", func(n *gpu.Node) { n.GPUs[0].PCIeRoot = "pci0000:09" }, sim.ErrHost, "0000:0a:03.0 is at"},
		{"bridge to two buses", func(n *gpu.Node) { n.GPUs[1].PCIePath = n.GPUs[0].PCIePath }, sim.ErrHost, "bridge 0000:0d:00.0 leads to bus 0e and to bus 0f"},
		{"bridge is a GPU", func(n *gpu.Node) { n.GPUs[1].PCIePath = append(n.GPUs[0].PCIePath[:3:3], n.GPUs[0].BDF) }, sim.ErrHost, "0000:0e:00.0 is both a bridge and another function"},
		{"VF is a GPU", func(n *gpu.Node) { n.GPUs[0].VFs = []gpu.BDF{n.GPUs[1].BDF} }, sim.ErrHost, "0000:0f:00.0 is at"},
		{"node of no GPU", func(n *gpu.Node) { n.GPUs[0].Nodes = []string{"/dev/mxcd"} }, sim.ErrHost, `device node "/dev/mxcd"`},
		{"node without number", func(n *gpu.Node) { n.GPUs[0].Nodes = []string{"/dev/dri/card"} }, sim.ErrHost, `device node "/dev/dri/card"`},
		{"node of another number", func(n *gpu.Node) { n.GPUs[0].Nodes = []string{"/dev/dri/card01"} }, sim.ErrHost, `device node "/dev/dri/card01"`},
		{"node of two GPUs", func(n *gpu.Node) { n.GPUs[0].Nodes = n.GPUs[1].Nodes }, sim.ErrHost, "occurs twice"},
		{"NUMA node", func(n *gpu.Node) { n.GPUs[0].NUMA = 1024 }, sim.ErrHost, "NUMA node 1024"},
		{"driver path", func(n *gpu.Node) { n.Driver.Path = "/../etc" }, sim.ErrTree, "leads out"},
		{"MXMACA path", func(n *gpu.Node) { n.MACA.Path = "/opt/ma ca" }, sim.ErrTree, "blanks"},
		{"MXMACA version", func(n *gpu.Node) { n.MACA.Version = "../../etc" }, sim.ErrTree, "is not plain"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := simtest.Node(t, "c500-8")
			tt.change(&n)
			_, err := sim.HostTree(n)
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("HostTree = %v; want %v with %q", err, tt.is, tt.want)
			}
		})
	}
}

func FuzzHostTree(f *testing.F) {
	for _, name := range []string{"c500-1", "c500-4-degraded"} {
		data, err := json.Marshal(simtest.Node(f, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"apiVersion":"metax-ctk/v1","kind":"Node","gpus":[{"bdf":"0000:0e:00.0","pcieSwitch":"0000:0c:00.0","vfs":["0000:0e:00.1"]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := gpu.DecodeNode(data)
		if err != nil || len(n.GPUs) > 16 {
			return
		}
		tree, err := sim.HostTree(n)
		if err != nil {
			return
		}
		again, err := hosttree.Parse(tree.Format())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree, again); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	})
}
