// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

// pair returns a Node of two GPUs that are equal except for what the test changes.
func pair(edit func(a, b *gpu.GPU), links ...gpu.Link) gpu.Node {
	n := gpu.NewNode("pair")
	n.GPUs = []gpu.GPU{{Index: 0, NUMA: gpu.NUMAUnknown}, {Index: 1, NUMA: gpu.NUMAUnknown}}
	if edit != nil {
		edit(&n.GPUs[0], &n.GPUs[1])
	}
	n.Links = links
	return n
}

func TestPlaces(t *testing.T) {
	way := func(addresses ...string) (path []gpu.BDF) {
		for _, a := range addresses {
			path = append(path, gputest.BDF(t, a))
		}
		return path
	}
	at := func(root string, a, b []gpu.BDF) func(x, y *gpu.GPU) {
		return func(x, y *gpu.GPU) {
			x.PCIeRoot, y.PCIeRoot, x.NUMA, y.NUMA = root, root, 0, 0
			x.PCIePath, y.PCIePath = a, b
		}
	}
	switches := func(a, b string, numaA, numaB int) func(x, y *gpu.GPU) {
		return func(x, y *gpu.GPU) {
			up, other := gputest.BDF(t, a), gputest.BDF(t, b)
			x.PCIeSwitch, y.PCIeSwitch, x.NUMA, y.NUMA = &up, &other, numaA, numaB
		}
	}
	for name, test := range map[string]struct {
		edit     func(a, b *gpu.GPU)
		kind     Kind
		locality Locality
	}{
		"nothing known": {nil, Unknown, LocalityUnknown},
		"ports of one switch": {
			at("pci0000:00", way("0000:00:01.0", "0000:02:00.0", "0000:03:00.0"), way("0000:00:01.0", "0000:02:00.0", "0000:03:01.0")),
			PIX, SameSwitch,
		},
		"below one port": {at("pci0000:00", way("0000:00:01.0"), way("0000:00:01.0")), PIX, SameSwitch},
		"switch above two switches": {
			at(
				"pci0000:00",
				way("0000:00:01.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0", "0000:05:00.0"),
				way("0000:00:01.0", "0000:02:00.0", "0000:03:01.0", "0000:08:00.0", "0000:09:00.0"),
			), PXB, SeveralBridges,
		},
		"on a switch and on one below it": {
			at(
				"pci0000:00",
				way("0000:00:01.0", "0000:02:00.0", "0000:03:00.0"),
				way("0000:00:01.0", "0000:02:00.0", "0000:03:01.0", "0000:08:00.0", "0000:09:00.0"),
			), PXB, SeveralBridges,
		},
		"two root ports":                   {at("pci0000:00", way("0000:00:01.0"), way("0000:00:02.0")), PHB, SameHostBridge},
		"host bridge known, path not":      {at("pci0000:00", nil, nil), PHB, SameHostBridge},
		"host bridges of one NUMA node":    {func(a, b *gpu.GPU) { a.PCIeRoot, b.PCIeRoot, a.NUMA, b.NUMA = "pci0000:00", "pci0000:40", 1, 1 }, NODE, SameNUMA},
		"two NUMA nodes":                   {func(a, b *gpu.GPU) { a.PCIeRoot, b.PCIeRoot, a.NUMA, b.NUMA = "pci0000:00", "pci0000:40", 0, 1 }, SYS, OtherNUMA},
		"NUMA alone, same":                 {func(a, b *gpu.GPU) { a.NUMA, b.NUMA = 3, 3 }, NODE, SameNUMA},
		"NUMA of one GPU unknown":          {func(a, _ *gpu.GPU) { a.NUMA = 0 }, Unknown, LocalityUnknown},
		"only the switch is stated, same":  {switches("0000:0c:00.0", "0000:0c:00.0", gpu.NUMAUnknown, gpu.NUMAUnknown), PIX, SameSwitch},
		"only the switch is stated, other": {switches("0000:0c:00.0", "0000:32:00.0", 0, 0), NODE, SameNUMA},
		"other switch, other NUMA node":    {switches("0000:0c:00.0", "0000:32:00.0", 0, 1), SYS, OtherNUMA},
		"other switch, NUMA node unknown":  {switches("0000:0c:00.0", "0000:32:00.0", gpu.NUMAUnknown, 1), Unknown, LocalityUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			g, warnings := New(pair(test.edit))
			if g.Kind(0, 1) != test.kind || g.Locality(0, 1) != test.locality || len(warnings) > 0 {
				t.Errorf("%s, locality %d, warnings %q; want %s, locality %d", g.Kind(0, 1), g.Locality(0, 1), warnings, test.kind, test.locality)
			}
			if g.Kind(1, 0) != test.kind || g.Locality(1, 0) != test.locality {
				t.Error("not symmetric")
			}
		})
	}
}

func TestLinks(t *testing.T) {
	sameNUMA := func(a, b *gpu.GPU) { a.NUMA, b.NUMA = 0, 0 }
	row := func(kind string, gbps float64) gpu.Link { return gpu.Link{A: 0, B: 1, Kind: kind, GBps: gbps} }
	down := func(l gpu.Link) gpu.Link {
		l.Down = true
		return l
	}
	for name, test := range map[string]struct {
		links    []gpu.Link
		kind     Kind
		gbps     float64
		warnings int
	}{
		"no row":                         {nil, NODE, 0, 0},
		"a row":                          {[]gpu.Link{row("PIX", 0)}, PIX, 0, 0},
		"a row worse than the place":     {[]gpu.Link{row("SYS", 0)}, SYS, 0, 0},
		"a row that knows nothing":       {[]gpu.Link{row("NA", 0)}, Unknown, 0, 0},
		"the best of two":                {[]gpu.Link{row("PIX", 46), row("MX", 64)}, MX, 64, 0},
		"the best first":                 {[]gpu.Link{row("MX", 64), row("PIX", 46)}, MX, 64, 0},
		"bandwidth of the best row only": {[]gpu.Link{row("PIX", 46), row("MX", 0), row("SYS", 20)}, MX, 0, 0},
		"greater bandwidth of two alike": {[]gpu.Link{row("MX", 64), row("MX", 32)}, MX, 64, 0},
		"down alone":                     {[]gpu.Link{down(row("MX", 64))}, NODE, 0, 0},
		"down beside one up":             {[]gpu.Link{down(row("MX", 64)), row("PXB", 46)}, PXB, 46, 0},
		"the OEM version's MetaXLink":    {[]gpu.Link{row("HT", 64)}, MX, 64, 0},
		"a strange word":                 {[]gpu.Link{row("OPT", 64)}, Unknown, 64, 1},
		"a strange word and a known one": {[]gpu.Link{row("OPT", 64), row("SYS", 0)}, SYS, 0, 1},
		"ends the other way round":       {[]gpu.Link{{A: 1, B: 0, Kind: "MX", GBps: 64}}, MX, 64, 0},
		"ends that are no pair":          {[]gpu.Link{{A: 1, B: 1, Kind: "MX"}, {A: 0, B: 2, Kind: "MX"}, {A: -1, B: 0, Kind: "MX"}}, NODE, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g, warnings := New(pair(sameNUMA, test.links...))
			if g.Kind(0, 1) != test.kind || g.Bandwidth(0, 1) != test.gbps || len(warnings) != test.warnings {
				t.Errorf("%s, %g GB/s, warnings %q; want %s, %g, %d", g.Kind(0, 1), g.Bandwidth(0, 1), warnings, test.kind, test.gbps, test.warnings)
			}
			if g.Kind(1, 0) != g.Kind(0, 1) || g.Bandwidth(1, 0) != g.Bandwidth(0, 1) {
				t.Error("not symmetric")
			}
			if g.Locality(0, 1) != SameNUMA || g.Kind(0, 0) != MX || g.Locality(1, 1) != SameSwitch {
				t.Error("a row changed the locality, or a GPU is far from itself")
			}
		})
	}
}

// onSwitches returns a node of eight GPUs on two switches of one NUMA node.
func onSwitches(links ...gpu.Link) gpu.Node {
	n := gpu.NewNode("on switches")
	for i := range 8 {
		n.GPUs = append(n.GPUs, gpu.GPU{Index: i, PCIeSwitch: &gpu.BDF{Bus: uint8(i / 4)}})
	}
	n.Links = links
	return n
}

func TestDomains(t *testing.T) {
	links := func(pairs ...[2]int) (all []gpu.Link) {
		for _, p := range pairs {
			all = append(all, gpu.Link{A: p[0], B: p[1], Kind: "MX"})
		}
		return all
	}
	for name, test := range map[string]struct {
		node gpu.Node
		want [][]int
	}{
		"no GPU":       {gpu.NewNode(""), [][]int{}},
		"no MetaXLink": {onSwitches(), [][]int{}},
		"two quads":    {onSwitches(links([2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{4, 5}, [2]int{6, 7}, [2]int{5, 6})...), [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}},
		"a chain, in odd order, and a pair": {
			onSwitches(links([2]int{1, 7}, [2]int{5, 7}, [2]int{1, 3}, [2]int{2, 4})...),
			[][]int{{1, 3, 5, 7}, {2, 4}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, _ := New(test.node)
			if diff := cmp.Diff(test.want, g.Domains()); diff != "" {
				t.Errorf("domains (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJoined(t *testing.T) {
	g, _ := New(onSwitches())
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for class, want := range map[Kind][][]int{MX: {}, Switch: {all[:4], all[4:]}, NODE: {all}} {
		if diff := cmp.Diff(want, g.Joined(class)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", class, diff)
		}
	}
}
