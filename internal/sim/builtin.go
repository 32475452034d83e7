// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// kind has the model and the versions of a host whose mx-smi output is published.
type kind struct{ model, driver, maca, vbios, sriov string }

// That SR-IOV is forbidden is what the labels of another host with C550 say; of C500 it is
// only known that the vendor's documents describe it.
var (
	c500 = kind{model: "MXC500", driver: "3.4.4", maca: "3.3.0.15", vbios: "1.30.0.0", sriov: gpu.SRIOVOff}
	c550 = kind{model: "MXC550", driver: "2.15.9", maca: "2.32.0.6", vbios: "1.25.1.0", sriov: gpu.SRIOVForbidden}
)

// builtinPlans returns the built-in nodes. Matrices, GPU addresses, NUMA nodes and versions
// are those of published hosts where the comment names one. The PCI bridges between a
// GPU and the host bridge are published for no host; they are invented so that they
// yield the matrix.
func builtinPlans() []plan {
	return []plan{
		{
			// Eight C500 of PCIe form in two MetaXLink quads, each below one switch;
			// both switches on NUMA node 0. Matrix, addresses and card1…card8 of a
			// real host: MetaX's best-practice page in ms-swift, mx-smi 2.2.9.
			name: "c500-8", kind: c500,
			slots: twoSwitches(0), domains: consecutiveSets(8, 4), nics: threeNICs(),
		},
		{
			// The same with the second quad on NUMA node 1. Matrix of the release
			// guide of vLLM-metax 0.25, which prints no addresses.
			name: "c500-8-sys", kind: c500,
			slots: twoSwitches(1), domains: consecutiveSets(8, 4),
		},
		{
			// Eight C500 without MetaXLink bridges, as a published text describes them: PIX
			// for (0,1) and (6,7), PXB for the other pairs of a side that it names, NODE
			// across. The pairs that it does not name are PXB here.
			name: "c500-8-pcie", kind: c500,
			slots: []slot{
				{0, "05:03.0 07:00.0 08:00.0 09:00.0 0a:00.0 0b:00.0"},
				{0, "05:03.0 07:00.0 08:00.0 09:00.0 0a:01.0 0c:00.0"},
				{0, "05:03.0 07:00.0 08:01.0 0e:00.0 0f:00.0 10:00.0"},
				{0, "05:03.0 07:00.0 08:02.0 12:00.0 13:00.0 14:00.0"},
				{0, "40:03.0 41:00.0 42:00.0 43:00.0 44:00.0 45:00.0"},
				{0, "40:03.0 41:00.0 42:01.0 47:00.0 48:00.0 49:00.0"},
				{0, "40:03.0 41:00.0 42:02.0 4b:00.0 4c:00.0 4d:00.0"},
				{0, "40:03.0 41:00.0 42:02.0 4b:00.0 4c:01.0 4e:00.0"},
			},
		},
		{
			// A degraded c500-8: the link between 1 and 2 is lost, so that the pair has
			// PCIe only, and 6 is unavailable.
			name: "c500-8-degraded", kind: c500,
			slots: twoSwitches(0), domains: consecutiveSets(8, 4), lost: [][2]int{{1, 2}}, unavailable: []int{6},
			nics: threeNICs(),
		},
		{
			// c500-8 shared by small jobs: GPU 2 is in slice mode with two sGPUs, GPU 5
			// has two virtual functions bound to the driver, the others are whole. No
			// listing of such a host is published. The sizes of slices are missing
			// because only the vendor's library reports them, and this node is what
			// sysfs and mx-smi report.
			name: "c500-8-sgpu", kind: c500,
			slots: twoSwitches(0), domains: consecutiveSets(8, 4), sliced: map[int]int{2: 2}, virtual: map[int]int{5: 2},
			nics: threeNICs(),
		},
		{
			// One quad with the link between 0 and 3 lost. The driver probed the second
			// GPU first, and a fifth card was removed later, so card numbers are not in
			// the order of addresses and have a gap.
			name: "c500-4-degraded", kind: c500,
			slots: twoSwitches(0)[:4], domains: consecutiveSets(4, 4), lost: [][2]int{{0, 3}}, probeOrder: []int{1, 0, -1, 2, 3},
			nics: threeNICs()[:2],
		},
		{
			// A workstation: one card below a root port, no other display, and firmware
			// that does not report NUMA nodes.
			name: "c500-1", kind: c500,
			slots: []slot{{-1, "00:01.0 01:00.0"}}, noDisplay: true,
		},
		{
			// Eight C550 of OAM form, all joined by MetaXLink, two on each of the NUMA nodes
			// 0, 2, 4, 6. Matrix and addresses of a real host, mx-smi 2.2.4.
			name: "c550-8", kind: c550,
			slots: oamSlots(0x0f, 0x34, 0x48, 0x5a, 0x87, 0xae, 0xc2, 0xd7), domains: consecutiveSets(8, 8),
		},
		{
			// Sixty-four C550 in one system. No matrix of such a system is published,
			// and of the wiring between boards only the words "dragonfly" and "mesh".
			// This node has eight boards of eight fully meshed cards (which takes all
			// seven ports of a card), a board per NUMA node, and only PCIe between
			// them.
			name: "superpod-64", kind: c550,
			slots: gridSlots(8, 2, 4), domains: consecutiveSets(64, 8),
		},
	}
}

// twoSwitches are four GPUs below a switch on NUMA node 0, and four below another
// switch on NUMA node second. A network card (threeNICs) occupies the port between the
// third and the fourth GPU.
func twoSwitches(second int) []slot {
	return []slot{
		{0, "0a:03.0 0c:00.0 0d:00.0 0e:00.0"},
		{0, "0a:03.0 0c:00.0 0d:01.0 0f:00.0"},
		{0, "0a:03.0 0c:00.0 0d:02.0 10:00.0"},
		{0, "0a:03.0 0c:00.0 0d:04.0 12:00.0"},
		{second, "31:03.0 33:00.0 34:00.0 35:00.0"},
		{second, "31:03.0 33:00.0 34:01.0 36:00.0"},
		{second, "31:03.0 33:00.0 34:02.0 37:00.0"},
		{second, "31:03.0 33:00.0 34:03.0 38:00.0"},
	}
}

// threeNICs are the network cards of the host of c500-8, with two ports each: one below
// each switch, and one on NUMA node 1. Their links to the GPUs and to each other are those
// of its topo -n, which prints no addresses.
func threeNICs() []slot {
	return []slot{
		{0, "0a:03.0 0c:00.0 0d:03.0 11:00.0"},
		{0, "0a:03.0 0c:00.0 0d:03.0 11:00.1"},
		{0, "31:03.0 33:00.0 34:04.0 39:00.0"},
		{0, "31:03.0 33:00.0 34:04.0 39:00.1"},
		{1, "97:01.0 98:00.0"},
		{1, "97:01.0 98:00.1"},
	}
}

// oamSlots are GPUs on the given buses, each below its own switch and host bridge, two per
// NUMA node with an even number.
func oamSlots(buses ...int) []slot {
	var slots []slot
	for i, b := range buses {
		slots = append(slots, slot{i / 2 * 2, fmt.Sprintf("%02x:01.0 %02x:00.0 %02x:00.0 %02x:00.0", b-3, b-2, b-1, b)})
	}
	return slots
}

// consecutiveSets divides 0…n-1 into sets of size.
func consecutiveSets(n, size int) [][]int {
	var sets [][]int
	for first := 0; first < n; first += size {
		var set []int
		for i := first; i < first+size; i++ {
			set = append(set, i)
		}
		sets = append(sets, set)
	}
	return sets
}
