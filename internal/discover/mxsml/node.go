// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// levels are the kinds of links by the library's number. 0 (the same board) is assumed
// to be as good as one switch. 7 is Ethernet, 8 no link or an unknown one; they say nothing
// about PCIe, so such a pair keeps the class of its PCIe position.
var levels = [...]topology.Kind{
	topology.PIX, topology.PIX, topology.PXB, topology.PHB, topology.NODE, topology.MX, topology.SYS, topology.Unknown,
	topology.Unknown,
}

// The states of a device's MetaXLink, by the library's number.
var linkStates = [...]string{
	"enabled", "disabled", "disabled by SR-IOV", "disabled by the number of GPUs",
	"training failed",
}

// LinkState is the word for the library's number; empty for an unknown number.
func LinkState(code uint32) string {
	if code < uint32(len(linkStates)) {
		return linkStates[code]
	}
	return ""
}

// Node makes the same Node of the answer as package mxsmi: each GPU with address, UUID,
// serial number, model, memory, VBIOS and health, in the order of addresses, and a link for
// every pair whose kind is known. In addition it has slices, disabled links, and SR-IOV where
// the VBIOS forbids it. Invalid values are left out, with a warning.
func (a Answer) Node() gpu.Node {
	b := builder{at: map[int]gpu.BDF{}, gpus: map[gpu.BDF]*gpu.GPU{}, disabled: map[int]string{}, down: map[int]bool{}}
	b.warnings = append(b.warnings, a.Warnings...)
	for _, what := range functionOfFact {
		if slices.Contains(a.Missing, what.function) {
			b.warn("%s: this libmxsml has no %s", what.fact, what.function)
		}
	}
	vfOwners := a.vfOwners()
	b.occurrences = a.occurrences()
	for _, d := range a.Devices {
		if _, part := vfOwners[d.ID]; !part {
			b.device(d)
		}
	}
	b.addVFs(a, vfOwners)
	return b.node(a)
}

// functionOfFact are functions, and the fact that is unknown for every GPU without
// them.
var functionOfFact = []struct{ function, fact string }{
	{"mxSmlGetDeviceState", "health is not known"},
	{"mxSmlGetMemoryInfo", "memory sizes are not known"},
	{"mxSmlGetBoardSerial", "serial numbers of boards are not known"},
}

// vfOwners maps virtual functions to the IDs of their GPUs. A virtual function whose
// GPU is not in the answer, as in a virtual machine, counts as a GPU itself and is not
// in the map.
func (a Answer) vfOwners() map[int]int {
	mode := map[int]string{}
	for _, d := range a.Devices {
		mode[d.ID] = d.Mode
	}
	owner := map[int]int{}
	for _, d := range a.Devices {
		for _, id := range d.VFs {
			if mode[id] == ModeVF && d.Mode != ModeVF {
				owner[id] = d.ID
			}
		}
	}
	return owner
}

// addressKey is the one form of an address that has several ("0000:0E:00.0",
// "00000000:0e:00.0").
func addressKey(address string) string {
	if b, err := gpu.ParseBDF(address); err == nil {
		return b.String()
	}
	return strings.ToLower(address)
}

// occurrences counts each address, as addressKey has it, and each UUID, in lower case. One
// that two devices have is ignored on both, because it is unknown which device is right.
func (a Answer) occurrences() map[string]int {
	count := map[string]int{}
	for _, d := range a.Devices {
		count[addressKey(d.BDF)]++
		count[strings.ToLower(d.UUID)]++
		for _, s := range d.Slices {
			count[strings.ToLower(s.UUID)]++
		}
	}
	return count
}

type builder struct {
	occurrences map[string]int  // of an address, as addressKey has it, or a UUID in lower case
	at          map[int]gpu.BDF // by ID
	gpus        map[gpu.BDF]*gpu.GPU
	disabled    map[int]string // the state of each MetaXLink that is not enabled, by ID
	down        map[int]bool   // devices whose disabled MetaXLink made a link Down, by ID
	warnings    []string
}

func (b *builder) warn(format string, a ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, a...))
}

func (b *builder) device(d Device) {
	bdf, err := gpu.ParseBDF(d.BDF)
	if err != nil || bdf == (gpu.BDF{}) {
		b.warn("libmxsml: ignored device %d: its PCI address is %q", d.ID, d.BDF)
		return
	}
	if b.occurrences[addressKey(d.BDF)] > 1 {
		b.warn("libmxsml: ignored device %d: another device has the same PCI address %s", d.ID, bdf)
		return
	}
	g := &gpu.GPU{BDF: bdf, NUMA: gpu.NUMAUnknown, Healthy: true, Model: d.Name, MemoryMiB: int(d.MemoryKiB >> 10)}
	b.at[d.ID], b.gpus[bdf] = bdf, g
	b.setIdentity(g, d)
	if d.Limited || (d.Available != nil && !*d.Available) {
		g.Healthy = false
		if d.Reason != "" {
			b.warn("GPU %s is unhealthy: libmxsml reports %q", bdf, d.Reason)
		} else if d.Limited {
			b.warn("GPU %s is unhealthy: %s", bdf, limitedText)
		}
	}
	if compat.IsWord(d.BIOS) {
		g.VBIOS = d.BIOS
	}
	if d.SRIOV != nil && !*d.SRIOV {
		g.SRIOV = gpu.SRIOVForbidden
	}
	if d.MetaXLink != "" && d.MetaXLink != linkStates[0] {
		b.disabled[d.ID] = d.MetaXLink
	}
	if d.Sliced || len(d.Slices) > 0 {
		g.Mode = gpu.ModeSGPU
	}
	for _, s := range d.Slices {
		s.QoS = d.QoS
		if b.occurrences[strings.ToLower(s.UUID)] > 1 {
			b.warn("libmxsml: ignored the UUID %q of slice %d of GPU %s: another device or slice has the same", s.UUID, s.Index,
				bdf)
			s.UUID = ""
		}
		g.Slices = append(g.Slices,
			s.toGPUSlice(func(format string, a ...any) { b.warn("GPU "+bdf.String()+": "+format, a...) }))
	}
	gpu.SortSlices(g.Slices)
}

// setIdentity sets UUID and serial number. The serial number is the board's, or else
// the chip's.
func (b *builder) setIdentity(g *gpu.GPU, d Device) {
	uuid, err := gpu.ParseUUID(d.UUID)
	switch {
	case d.UUID == "" && (d.Limited || d.Mode == ModePF): // the library has none for these
	case d.UUID == "":
		b.warn("libmxsml: GPU %s has no UUID", g.BDF)
	case err != nil:
		b.warn("libmxsml: ignored the UUID of GPU %s: %v", g.BDF, err)
	case b.occurrences[strings.ToLower(d.UUID)] > 1:
		b.warn("libmxsml: ignored the UUID %s of GPU %s: another device or slice has the same", d.UUID, g.BDF)
	default:
		g.UUID = uuid
	}
	for _, serial := range []string{d.BoardSerial, d.ChipSerial} {
		switch {
		case g.Serial != "" || serial == "": // known, or not given
		case gpu.ValidSerial(serial):
			g.Serial = serial
		default:
			b.warn("libmxsml: ignored the invalid serial number %q of GPU %s", serial, g.BDF)
		}
	}
}

// addVFs adds virtual functions to their GPUs as slices, in the order of their
// addresses.
func (b *builder) addVFs(a Answer, vfOwners map[int]int) {
	var parts []Device
	for _, d := range a.Devices {
		if _, part := vfOwners[d.ID]; part {
			parts = append(parts, d)
		}
	}
	address := func(d Device) gpu.BDF { bdf, _ := gpu.ParseBDF(d.BDF); return bdf }
	slices.SortFunc(parts, func(x, y Device) int { return address(x).Compare(address(y)) })
	count := map[int]int{}
	for _, d := range parts {
		owner := vfOwners[d.ID]
		g := b.gpus[b.at[owner]]
		if g == nil || address(d) == (gpu.BDF{}) || b.occurrences[addressKey(d.BDF)] > 1 {
			b.warn("libmxsml: ignored virtual function %d: its PCI address is %q", d.ID, d.BDF)
			continue
		}
		s := gpu.Slice{Kind: gpu.SliceVF, Index: count[owner], BDF: address(d), MemoryMiB: int(d.MemoryKiB >> 10)}
		if gpu.ValidSliceUUID(d.UUID) && b.occurrences[strings.ToLower(d.UUID)] == 1 {
			s.UUID = d.UUID
		}
		g.VFs, g.Slices = append(g.VFs, s.BDF), append(g.Slices, s)
		count[owner]++
	}
}

// node returns the GPUs in the order of addresses, and the links between them.
func (b *builder) node(a Answer) gpu.Node {
	node := gpu.NewNode("")
	index := map[gpu.BDF]int{}
	for _, bdf := range slices.SortedFunc(maps.Keys(b.gpus), gpu.BDF.Compare) {
		g := *b.gpus[bdf]
		g.Index = len(node.GPUs)
		index[bdf] = g.Index
		node.GPUs = append(node.GPUs, g)
	}
	links := map[[2]int]gpu.Link{}
	for _, p := range a.Links {
		from, ok1 := b.at[p.A]
		to, ok2 := b.at[p.B]
		if ok1 && ok2 {
			b.link(links, p, min(index[from], index[to]), max(index[from], index[to]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.down)) {
		b.warn("the MetaXLink of GPU %s is down: %s", b.at[id], b.disabled[id])
	}
	for _, l := range links {
		if l.Kind != topology.Unknown.String() {
			node.Links = append(node.Links, l)
		}
	}
	gpu.SortLinks(node.Links)
	if len(node.GPUs) > 1 && len(links) == 0 {
		why := "mxSmlGetDeviceTopology gave no answer"
		if slices.Contains(a.Missing, "mxSmlGetDeviceTopology") {
			why = "this libmxsml has no mxSmlGetDeviceTopology"
		}
		b.warn("%s", mxsmi.LinksUnknown+": "+why)
	}
	node.Warnings = b.warnings
	return node
}

// link adds a pair. If the library gives two answers for a pair, the worse one counts.
// A MetaXLink that is disabled at one end is down.
func (b *builder) link(links map[[2]int]gpu.Link, p Pair, from, to int) {
	kind := topology.Unknown
	if p.Level >= 0 && p.Level < len(levels) {
		kind = levels[p.Level]
	} else {
		b.warn("libmxsml: unknown link level %d between devices %d and %d", p.Level, p.A, p.B)
	}
	l := gpu.Link{A: from, B: to, Kind: kind.String()}
	if before, ok := links[[2]int{from, to}]; ok {
		if was, _ := topology.ParseKind(before.Kind); was < kind {
			l.Kind = before.Kind
		}
	}
	if l.Kind == topology.MX.String() {
		for _, id := range []int{p.A, p.B} {
			if b.disabled[id] != "" {
				l.Down, b.down[id] = true, true
			}
		}
	}
	links[[2]int{from, to}] = l
}
