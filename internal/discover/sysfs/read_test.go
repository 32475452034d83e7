// SPDX-License-Identifier: Apache-2.0

package sysfs_test

import (
	"maps"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

const (
	first   = "sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00.0"
	second  = "sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:01.0/0000:0f:00.0"
	video   = 44
	devices = "sys/bus/pci/devices/"
)

// function is a PCI function in a test tree: the link by its address, and the files
// that every function has.
func function(dir, vendor, device, class string) sim.Tree {
	return sim.Tree{
		devices + path.Base(dir): sim.Link("../../../" + strings.TrimPrefix(dir, "sys/")),
		dir + "/vendor":          sim.File{Data: vendor + "\n"},
		dir + "/device":          sim.File{Data: device + "\n"},
		dir + "/class":           sim.File{Data: class + "\n"},
	}
}

// card is a GPU for which a driver made card<n> and renderD<m>.
func card(dir, n, m string, minor, render uint32) sim.Tree {
	up := strings.Repeat("../", strings.Count(dir, "/"))
	return join(function(dir, "0x9999", "0x4001", "0x038000"), sim.Tree{
		dir + "/numa_node":                 sim.File{Data: "0\n"},
		dir + "/driver":                    sim.Link(up + "bus/pci/drivers/metax"),
		dir + "/drm/card" + n + "/dev":     sim.File{Data: "226:" + n + "\n"},
		dir + "/drm/renderD" + m + "/dev":  sim.File{Data: "226:" + m + "\n"},
		dir + "/drm/controlD64/dev":        sim.File{Data: "226:64\n"},
		"dev/dri/card" + n:                 sim.Device{Major: 226, Minor: minor, Perm: 0o660, GID: video},
		"dev/dri/renderD" + m:              sim.Device{Major: 226, Minor: render, Perm: 0o660, GID: video},
		"sys/bus/pci/drivers/metax/uevent": sim.File{},
		"sys/module/metax/version":         sim.File{Data: "3.4.4\n"},
		"dev/mxcd":                         sim.Device{Major: 511, Perm: 0o660, GID: 7},
	})
}

// host has two GPUs below one switch, a bridge and a network card.
func host() sim.Tree {
	return join(
		card(first, "2", "129", 2, 129), card(second, "1", "128", 1, 128),
		function("sys/devices/pci0000:0a/0000:0a:03.0", "0x8086", "0x352a", "0x060400"),
		function("sys/devices/pci0000:0a/0000:0a:04.0", "0x15b3", "0x1021", "0x020000"),
		function("sys/devices/pci0000:0a/0000:0a:05.0", "0x9999", "0x0001", "0x060400"), // a bridge of MetaX is not a GPU
	)
}

func join(trees ...sim.Tree) sim.Tree {
	all := sim.Tree{}
	for _, t := range trees {
		maps.Copy(all, t)
	}
	return all
}

func read(t *testing.T, tree sim.Tree) (sysfs.Report, error) {
	t.Helper()
	root := simtest.Write(t, tree)
	dir := root.Dir()
	report, err := sysfs.Read(root)
	for i, w := range report.Warnings {
		report.Warnings[i] = strings.ReplaceAll(w, dir, "") // paths as the host has them
	}
	return report, err
}

func TestRead(t *testing.T) {
	got, err := read(t, host())
	if err != nil {
		t.Fatal(err)
	}
	port, up := gpu.BDF{Bus: 0x0a, Device: 3}, gpu.BDF{Bus: 0x0c}
	want := sysfs.Report{
		GPUs: []gpu.GPU{
			{
				Index: 0, BDF: gpu.BDF{Bus: 0x0e}, Model: "MXC500", NUMA: 0, Healthy: true,
				PCIeRoot: "pci0000:0a", PCIePath: []gpu.BDF{port, up, {Bus: 0x0d}}, PCIeSwitch: &up,
				Nodes: []string{"/dev/dri/card2", "/dev/dri/renderD129"}, GIDs: []uint32{video}, SRIOV: gpu.SRIOVForbidden,
			},
			{
				Index: 1, BDF: gpu.BDF{Bus: 0x0f}, Model: "MXC500", NUMA: 0, Healthy: true,
				PCIeRoot: "pci0000:0a", PCIePath: []gpu.BDF{port, up, {Bus: 0x0d, Device: 1}}, PCIeSwitch: &up,
				Nodes: []string{"/dev/dri/card1", "/dev/dri/renderD128"}, GIDs: []uint32{video}, SRIOV: gpu.SRIOVForbidden,
			},
		},
		Shared: &gpu.Shared{Nodes: []string{"/dev/mxcd"}, GIDs: []uint32{7}},
		Module: sysfs.Module{Loaded: true, Version: "3.4.4", File: "/sys/module/metax/version"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestReadTrouble damages the tree in many ways. Each is a warning, and the other GPU
// is still found.
func TestReadTrouble(t *testing.T) {
	const addr = "0000:0e:00.0"
	noNodes := func(g *gpu.GPU) { g.Nodes, g.GIDs, g.Healthy = nil, nil, false }
	for _, test := range []struct {
		name   string
		change func(sim.Tree)
		// want changes the first GPU as it is without trouble; nil is a GPU left out.
		want     func(*gpu.GPU)
		warnings []string // a part of each
	}{
		{
			"no numa_node", func(tree sim.Tree) { delete(tree, first+"/numa_node") },
			func(g *gpu.GPU) { g.NUMA = -1 }, nil,
		},
		{
			"numa_node is unknown", func(tree sim.Tree) { tree[first+"/numa_node"] = sim.File{Data: "-1\n"} },
			func(g *gpu.GPU) { g.NUMA = -1 }, nil,
		},
		{
			"numa_node is garbage", func(tree sim.Tree) { tree[first+"/numa_node"] = sim.File{Data: "\x00\n"} },
			func(g *gpu.GPU) { g.NUMA = -1 },
			[]string{"/sys/bus/pci/devices/" + addr + `/numa_node is "\x00"`},
		},
		{
			"numa_node that the host does not have", func(tree sim.Tree) {
				tree[first+"/numa_node"] = sim.File{Data: "6\n"}
				tree["sys/devices/system/node/online"] = sim.File{Data: "0-1,4\n"}
			},
			func(g *gpu.GPU) { g.NUMA = -1 },
			[]string{"/sys/bus/pci/devices/" + addr + "/numa_node is 6; this host has the NUMA nodes 0-1,4"},
		},
		{
			"numa_node that the host has", func(tree sim.Tree) {
				tree[first+"/numa_node"] = sim.File{Data: "4\n"}
				tree["sys/devices/system/node/online"] = sim.File{Data: "0-1,4\n"}
			},
			func(g *gpu.GPU) { g.NUMA = 4 }, nil,
		},
		{
			"numa_node is a directory", func(tree sim.Tree) { tree[first+"/numa_node"] = sim.Dir{} },
			func(g *gpu.GPU) { g.NUMA = -1 },
			[]string{"/numa_node: not a regular file"},
		},
		{
			"no vendor", func(tree sim.Tree) { delete(tree, first+"/vendor") },
			nil,
			[]string{"ignored /sys/bus/pci/devices/" + addr + ": open /sys/bus/pci/devices/" + addr + "/vendor: no such file"},
		},
		{
			"vendor is garbage", func(tree sim.Tree) { tree[first+"/vendor"] = sim.File{Data: "9999"} },
			nil,
			[]string{"ignored /sys/bus/pci/devices/" + addr + `: vendor is "9999"`},
		},
		{
			"no class", func(tree sim.Tree) { delete(tree, first+"/class") },
			noNodes,
			[]string{"GPU " + addr + " cannot be used: open /sys/bus/pci/devices/" + addr + "/class"},
		},
		{
			"class is garbage", func(tree sim.Tree) { tree[first+"/class"] = sim.File{Data: "0x3000000"} },
			noNodes,
			[]string{"GPU " + addr + ` cannot be used: class is "0x3000000"`},
		},
		{
			"no device", func(tree sim.Tree) { delete(tree, first+"/device") },
			func(g *gpu.GPU) { noNodes(g); g.Model = "" },
			[]string{"GPU " + addr + " cannot be used"},
		},
		{
			"device is garbage", func(tree sim.Tree) { tree[first+"/device"] = sim.File{Data: "0x"} },
			func(g *gpu.GPU) { noNodes(g); g.Model = "" },
			[]string{"GPU " + addr + ` cannot be used: device is "0x"`},
		},
		{
			"an unknown device", func(tree sim.Tree) { tree[first+"/device"] = sim.File{Data: "0x4fff"} },
			func(g *gpu.GPU) { g.Model = "9999:4fff" }, nil,
		},
		{
			"an accelerator", func(tree sim.Tree) { tree[first+"/class"] = sim.File{Data: "0x120000"} },
			func(*gpu.GPU) {}, nil,
		},
		{
			"the device has vanished", func(tree sim.Tree) {
				maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasPrefix(p, first) })
			},
			nil,
			[]string{"ignored /sys/bus/pci/devices/" + addr},
		},
		{
			"a loop of links", func(tree sim.Tree) { tree[devices+addr] = sim.Link(addr) },
			nil,
			[]string{"ignored /sys/bus/pci/devices/" + addr},
		},
		{
			"a name that is no address", func(tree sim.Tree) { tree[devices+"0000:0e:00"] = sim.Link(addr) },
			func(*gpu.GPU) {},
			[]string{`ignored an entry of /sys/bus/pci/devices: parse "0000:0e:00"`},
		},
		{
			"a directory instead of a link", func(tree sim.Tree) {
				delete(tree, devices+addr)
				for p, e := range tree {
					if rest, ok := strings.CutPrefix(p, first); ok {
						tree[devices+addr+rest] = e
					}
				}
				tree[devices+addr+"/driver"] = sim.Link("../../drivers/metax")
			},
			func(g *gpu.GPU) { g.PCIeRoot, g.PCIePath, g.PCIeSwitch = "", nil, nil },
			[]string{"place of GPU " + addr + ` on the PCIe bus is not known: "/sys/bus/pci/devices/` + addr + `" has no host bridge`},
		},
		{
			"a link to another function", func(tree sim.Tree) {
				tree[devices+addr] = tree[devices+"0000:0f:00.0"]
			},
			func(g *gpu.GPU) {
				g.PCIeRoot, g.PCIePath, g.PCIeSwitch = "", nil, nil
				noNodes(g)
			},
			[]string{"does not end in " + addr, "both have the device node /dev/dri/card1", "both have the device node /dev/dri/renderD128"},
		},
		{
			"no driver bound", func(tree sim.Tree) {
				maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool {
					return p == first+"/driver" || strings.HasPrefix(p, first+"/drm/")
				})
			},
			noNodes,
			[]string{"GPU " + addr + " cannot be used: no card* in /sys/bus/pci/devices/" + addr + "/drm; no renderD* in /sys/bus/pci/devices/" + addr + "/drm; no driver is bound to it (metax-ctk doctor)"},
		},
		{
			"another driver bound", func(tree sim.Tree) {
				maps.DeleteFunc(tree, func(p string, _ sim.Entry) bool { return strings.HasPrefix(p, first+"/drm/") })
				tree[first+"/driver"] = sim.Link("../../../../../../bus/pci/drivers/vfio-pci")
				tree["sys/bus/pci/drivers/vfio-pci/uevent"] = sim.File{}
			},
			func(g *gpu.GPU) { noNodes(g); g.Mode = gpu.ModeVFIO },
			[]string{`driver "vfio-pci" is bound to it, not metax`},
		},
		{
			"a driver link that leads nowhere", func(tree sim.Tree) { tree[first+"/driver"] = sim.Link("gone") },
			func(*gpu.GPU) {}, nil,
		},
		{
			"no render node", func(tree sim.Tree) { delete(tree, first+"/drm/renderD129/dev") },
			noNodes,
			[]string{"GPU " + addr + " cannot be used: no renderD* in /sys/bus/pci/devices/" + addr + "/drm"},
		},
		{
			"a node missing in /dev", func(tree sim.Tree) { delete(tree, "dev/dri/card2") },
			noNodes,
			[]string{"GPU " + addr + " cannot be used: open /dev/dri/card2: no such file or directory"},
		},
		{
			"all nodes missing in /dev", func(tree sim.Tree) {
				delete(tree, "dev/dri/card2")
				delete(tree, "dev/dri/renderD129")
			},
			noNodes,
			[]string{"open /dev/dri/card2: no such file or directory; open /dev/dri/renderD129: no such file or directory"},
		},
		{
			"a file where a device should be", func(tree sim.Tree) { tree["dev/dri/card2"] = sim.File{Data: "card"} },
			noNodes,
			[]string{"stat /dev/dri/card2: not a character device"},
		},
		{
			"a device with another's numbers", func(tree sim.Tree) {
				tree["dev/dri/card2"] = sim.Device{Major: 226, Minor: 1, Perm: 0o660, GID: video}
			},
			noNodes,
			[]string{`/dev/dri/card2 has the device numbers 226:1, sysfs says "226:2"`},
		},
		{
			"nodes open to everyone", func(tree sim.Tree) {
				tree["dev/dri/card2"] = sim.Device{Major: 226, Minor: 2, Perm: 0o666, GID: video}
				tree["dev/dri/renderD129"] = sim.Device{Major: 226, Minor: 129, Perm: 0o666, GID: 105}
			},
			func(g *gpu.GPU) { g.GIDs = nil }, nil,
		},
		{
			"nodes of two groups", func(tree sim.Tree) {
				tree["dev/dri/card2"] = sim.Device{Major: 226, Minor: 2, Perm: 0o660, GID: 105}
			},
			func(g *gpu.GPU) {
				g.GIDs, g.NodeGIDs = []uint32{video, 105}, map[string]uint32{"/dev/dri/card2": 105, "/dev/dri/renderD129": video}
			}, nil,
		},
		{
			"one node open to everyone", func(tree sim.Tree) {
				tree["dev/dri/renderD129"] = sim.Device{Major: 226, Minor: 129, Perm: 0o666, GID: 105}
			},
			func(g *gpu.GPU) { g.NodeGIDs = map[string]uint32{"/dev/dri/card2": video} }, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			base, err := read(t, host())
			if err != nil {
				t.Fatal(err)
			}
			want := base.GPUs
			if test.want == nil {
				want = want[1:]
				want[0].Index = 0
			} else {
				test.want(&want[0])
			}
			if test.name == "a link to another function" {
				noNodes(&want[1])
			}
			tree := host()
			test.change(tree)
			got, err := read(t, tree)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.GPUs); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, test.warnings, got.Warnings)
		})
	}
}

// TestSRIOV: the numbers in sysfs, and virtual functions that are there, give the state.
func TestSRIOV(t *testing.T) {
	const dir = first + "/"
	for _, test := range []struct{ total, now, want, warning string }{
		{"8", "0", gpu.SRIOVOff, ""},
		{"8", "2", gpu.SRIOVOn, ""},
		{"0", "0", gpu.SRIOVForbidden, ""},
		{"many", "0", "", "sriov_totalvfs"},
		{"8", "", "", "sriov_numvfs"},
	} {
		got, err := read(t, join(host(), sim.Tree{dir + "sriov_totalvfs": sim.File{Data: test.total + "\n"}, dir + "sriov_numvfs": sim.File{Data: test.now + "\n"}}))
		if err != nil {
			t.Fatal(err)
		}
		if got.GPUs[0].SRIOV != test.want || got.GPUs[1].SRIOV != gpu.SRIOVForbidden {
			t.Errorf("with %+v SR-IOV is %q, and %q of the GPU without", test, got.GPUs[0].SRIOV, got.GPUs[1].SRIOV)
		}
		if text := strings.Join(got.Warnings, "\n"); !strings.Contains(text, test.warning) || (text == "") != (test.warning == "") {
			t.Errorf("with %+v warnings are %q", test, got.Warnings)
		}
	}
}
