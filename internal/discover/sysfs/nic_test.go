// SPDX-License-Identifier: Apache-2.0

package sysfs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/gputest"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestSurroundings has, of all network devices, the physical functions on PCI: those with
// RDMA first, each once.
func TestSurroundings(t *testing.T) {
	const devices = "sys/devices/"
	text := func(s string) sim.Entry { return sim.File{Data: s + "\n"} }
	tree := sim.Tree{
		"sys/bus/pci/devices/0000:0e:00.0":                             sim.Link("../../../devices/pci0000:0a/0000:0a:03.0/0000:0e:00.0"),
		"sys/bus/pci/devices/0000:0f:00.0":                             sim.Link("../../../devices/pci0000:0a/0000:0a:03.0/0000:0f:00.0"),
		devices + "pci0000:0a/0000:0a:03.0/0000:0e:00.0/local_cpulist": text("0-31,64-95"),
		devices + "pci0000:0a/0000:0a:03.0/0000:0f:00.0/local_cpulist": text("\x1b[2J"),
	}
	// add adds a network device of a PCI function, or of another device.
	add := func(class, name, function string, files map[string]string) {
		dir := devices + function
		tree[dir+"/"+class+"/"+name+"/device"] = sim.Link("../..")
		tree["sys/class/"+class+"/"+name] = sim.Link("../../../" + dir + "/" + class + "/" + name)
		for file, data := range files {
			tree[dir+"/"+file] = text(data)
		}
	}
	add("net", "ens1f0", "pci0000:0a/0000:0a:03.0/0000:11:00.0", nil) // the same card
	add("infiniband", "mlx5_10", "pci0000:0a/0000:0a:03.0/0000:11:00.0", map[string]string{"numa_node": "1"})
	add("infiniband", "mlx5_2", "pci0000:0a/0000:0a:03.0/0000:11:00.1", map[string]string{"numa_node": "-1"})
	add("net", "eno1", "pci0000:00/0000:00:1c.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", map[string]string{"numa_node": "x"})
	add("net", "eth5", "pci0000:00/0000:00:1d.0/0000:04:00.1", map[string]string{"physfn/x": ""}) // a virtual function
	add("net", "eth6", "pci0000:00/0000:00:03.0/virtio0", nil)                                    // a virtual machine's
	add("net", "usb0", "pci0000:00/0000:00:14.0/usb1/1-1", nil)
	add("net", "0x", "pci0000:00/0000:00:1e.0/0000:05:00.0", nil)
	tree["sys/class/net/lo/mtu"] = text("1500")

	gpus := []gpu.GPU{{BDF: gputest.BDF(t, "0000:0e:00.0")}, {BDF: gputest.BDF(t, "0000:0f:00.0")}, {BDF: gputest.BDF(t, "0000:10:00.0")}}
	got := sysfs.ReadSurroundings(simtest.Write(t, tree), gpus)
	port := gputest.BDF(t, "0000:0a:03.0")
	bridge := gputest.BDF(t, "0000:01:00.0")
	want := sysfs.Surroundings{
		NICs: []gpu.NIC{
			{Name: "mlx5_10", Kind: "rdma", BDF: gputest.BDF(t, "0000:11:00.0"), NUMA: 1, PCIeRoot: "pci0000:0a", PCIePath: []gpu.BDF{port}},
			{Name: "mlx5_2", Kind: "rdma", BDF: gputest.BDF(t, "0000:11:00.1"), NUMA: -1, PCIeRoot: "pci0000:0a", PCIePath: []gpu.BDF{port}},
			{
				Name: "eno1", Kind: "net", BDF: gputest.BDF(t, "0000:03:00.0"), NUMA: -1, PCIeRoot: "pci0000:00",
				PCIePath: []gpu.BDF{gputest.BDF(t, "0000:00:1c.0"), bridge, gputest.BDF(t, "0000:02:00.0")}, PCIeSwitch: &bridge,
			},
		},
		CPUs: []string{"0-31,64-95", "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	n := gpu.NewNode("")
	n.NICs = got.NICs
	if err := n.Check(); err != nil {
		t.Error(err)
	}
	if empty := sysfs.ReadSurroundings(simtest.Write(t, sim.Tree{"etc/x": text("")}), nil); empty.NICs != nil || empty.CPUs != nil {
		t.Errorf("of an empty host: %+v", empty)
	}
}
