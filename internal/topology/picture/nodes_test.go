// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

// side is a PCIe switch and the GPUs below it.
type side struct {
	numa int
	root string   // host bridge
	up   string   // the switch's upstream port; "" hangs the GPUs from root ports
	gpus []string // addresses
}

// build makes a Node of GPUs with everything known about them but their links. Each switch
// sits below a root port at the next lower bus; downstream ports and root ports get numbers of
// their own.
func build(t testing.TB, name, model string, sides ...side) gpu.Node {
	t.Helper()
	n := gpu.NewNode(name)
	n.Driver = &gpu.Driver{Version: "3.4.4"}
	n.MACA = &gpu.MACA{Version: "3.3.0.15", Path: "/opt/maca"}
	for _, s := range sides {
		for _, address := range s.gpus {
			i := len(n.GPUs)
			g := gpu.GPU{
				Index: i, BDF: gputest.BDF(t, address), Model: model, MemoryMiB: 65536, NUMA: s.numa, PCIeRoot: s.root, Healthy: true,
				UUID:  gpu.UUID(fmt.Sprintf("GPU-%08x-169c-6d31-f9dc-c2a90a441f1b", 0x3fd4ee8f+i*0x01010101)),
				Nodes: []string{fmt.Sprintf("/dev/dri/card%d", i+1), fmt.Sprintf("/dev/dri/renderD%d", 128+i)},
			}
			if s.up == "" {
				port := g.BDF
				port.Bus, port.Device, port.Function = 0, uint8(i), 1
				g.PCIePath = []gpu.BDF{port}
			} else {
				up := gputest.BDF(t, s.up)
				port, down := up, up
				port.Bus--
				port.Device = 1
				down.Bus++
				down.Device = uint8(i)
				g.PCIePath, g.PCIeSwitch = []gpu.BDF{port, up, down}, &up
			}
			n.GPUs = append(n.GPUs, g)
		}
	}
	return n
}

// mesh links each of the GPUs to each by MetaXLink.
func mesh(n *gpu.Node, gbps float64, gpus ...int) {
	for i, a := range gpus {
		for _, b := range gpus[i+1:] {
			n.Links = append(n.Links, gpu.Link{A: a, B: b, Kind: "MX", GBps: gbps})
		}
	}
}

func sequence(from, to int) (s []int) {
	for i := from; i < to; i++ {
		s = append(s, i)
	}
	return s
}

// c500 is a host with eight cards on two switches of one NUMA node.
func c500(t testing.TB, name string) gpu.Node {
	return build(
		t, name, "MXC500",
		side{0, "pci0000:0a", "0000:0c:00.0", []string{"0000:0e:00.0", "0000:0f:00.0", "0000:10:00.0", "0000:12:00.0"}},
		side{0, "pci0000:30", "0000:32:00.0", []string{"0000:35:00.0", "0000:36:00.0", "0000:37:00.0", "0000:38:00.0"}},
	)
}

// quads is the c500 with its bridges: two MetaXLink domains of four.
func quads(t testing.TB) gpu.Node {
	n := c500(t, "c500-8")
	mesh(&n, 64, 0, 1, 2, 3)
	mesh(&n, 64, 4, 5, 6, 7)
	return n
}

// oam is eight modules in one MetaXLink mesh over four NUMA nodes.
func oam(t testing.TB) gpu.Node {
	n := build(
		t, "c550-8", "MXC550",
		side{0, "pci0000:0d", "", []string{"0000:0f:00.0"}}, side{0, "pci0000:32", "", []string{"0000:34:00.0"}},
		side{2, "pci0000:46", "", []string{"0000:48:00.0"}}, side{2, "pci0000:58", "", []string{"0000:5a:00.0"}},
		side{4, "pci0000:85", "", []string{"0000:87:00.0"}}, side{4, "pci0000:ac", "", []string{"0000:ae:00.0"}},
		side{6, "pci0000:c0", "", []string{"0000:c2:00.0"}}, side{6, "pci0000:d5", "", []string{"0000:d7:00.0"}},
	)
	mesh(&n, 128, sequence(0, 8)...)
	return n
}

// degraded is one quad with a link down, an unhealthy GPU and parts unknown.
func degraded(t testing.TB) gpu.Node {
	n := build(
		t, "c500-4-degraded", "MXC500",
		side{0, "pci0000:0a", "0000:0c:00.0", []string{"0000:0e:00.0", "0000:0f:00.0", "0000:10:00.0"}},
		side{gpu.NUMAUnknown, "", "", []string{"0000:12:00.0"}},
	)
	mesh(&n, 64, 0, 1, 2, 3)
	for i, l := range n.Links {
		n.Links[i].Down = l.A == 0 && l.B == 2 || l.B == 3 && l.A > 0
	}
	n.MACA = nil
	n.GPUs[3].Healthy, n.GPUs[3].UUID, n.GPUs[3].MemoryMiB, n.GPUs[3].Nodes, n.GPUs[3].PCIePath = false, "", 0, nil, nil
	return n
}

// bare returns a node as read from a matrix: without addresses and PCIe.
func bare() gpu.Node {
	n := gpu.NewNode("")
	for i := range 4 {
		n.GPUs = append(n.GPUs, gpu.GPU{Index: i, NUMA: i / 2, Healthy: true})
	}
	n.Links = []gpu.Link{
		{A: 0, B: 1, Kind: "PIX"},
		{A: 0, B: 2, Kind: "SYS"},
		{A: 0, B: 3, Kind: "NA"},
		{A: 1, B: 2, Kind: "SYS"},
		{A: 1, B: 3, Kind: "SYS"},
		{A: 2, B: 3, Kind: "MX"},
	}
	return n
}

// superpod is 64 GPUs on 8 NUMA nodes and 16 switches in MetaXLink domains of the
// given size.
func superpod(t testing.TB, size int) gpu.Node {
	var sides []side
	for s := range 16 {
		var gpus []string
		for g := range 4 {
			gpus = append(gpus, fmt.Sprintf("%04x:%02x:00.0", s/8, s%8*0x20+0x10+g))
		}
		sides = append(sides, side{s / 2, fmt.Sprintf("pci%04x:%02x", s/8, s%8*0x20), fmt.Sprintf("%04x:%02x:00.0", s/8, s%8*0x20+2), gpus})
	}
	n := build(t, "superpod-64", "MXC550", sides...)
	for i := 0; i < 64; i += size {
		mesh(&n, 0, sequence(i, i+size)...)
	}
	return n
}

// cascade is a host without MetaXLink: two switches below a third, a switch on the other NUMA
// node, and beside it a GPU of which little is known.
func cascade(t testing.TB) gpu.Node {
	n := build(
		t, "c500-8-pcie", "MXC500",
		side{0, "pci0000:00", "0000:05:00.0", []string{"0000:10:00.0", "0000:11:00.0"}},
		side{0, "pci0000:00", "0000:08:00.0", []string{"0000:20:00.0", "0000:21:00.0"}},
		side{1, "pci0000:80", "0000:85:00.0", []string{"0000:90:00.0", "0000:91:00.0"}},
		side{1, "", "", []string{"0000:a0:00.0"}},
	)
	for i := range 4 {
		above := []gpu.BDF{gputest.BDF(t, "0000:00:01.0"), gputest.BDF(t, "0000:02:00.0"), gputest.BDF(t, fmt.Sprintf("0000:03:%02x.0", i/2))}
		n.GPUs[i].PCIePath = append(above, n.GPUs[i].PCIePath[1:]...)
	}
	n.GPUs[6].PCIePath = nil
	return n
}
