// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// levels are libmxsml's numbers of the kinds of links.
var levels = map[topology.Kind]int{
	topology.PIX: 1, topology.PXB: 2, topology.PHB: 3, topology.NODE: 4, topology.MX: 5, topology.SYS: 6, topology.Unknown: 8,
}

// describe is the node in the format of the stand-in library's file. The library
// numbers devices in reverse order of their addresses, so that code that confuses a
// number with an index fails; a GPU with virtual functions is a physical function, and
// these are separate devices.
func describe(n gpu.Node) string {
	var b strings.Builder
	driver, maca := "-", "-"
	if n.Driver != nil && n.Driver.Version != "" {
		driver = n.Driver.Version
	}
	if n.MACA != nil && n.MACA.Version != "" {
		maca = n.MACA.Version
	}
	fmt.Fprintln(&b, "version", driver, maca)
	id, ids, pfs := 0, make([]int, len(n.GPUs)), 0
	for i := len(n.GPUs) - 1; i >= 0; i-- {
		g := n.GPUs[i]
		mode := 0
		if len(g.VFs) > 0 {
			ids[i], mode = mxsml.FirstPF+pfs, 1
			pfs++
			for k, vf := range g.VFs {
				fmt.Fprintln(&b, "vf", ids[i], id)
				device(&b, id, gpu.GPU{BDF: vf, UUID: vfUUID(g, k), Model: g.Model + "-VF", MemoryMiB: g.MemoryMiB / len(g.VFs), Healthy: true}, 2)
				id++
			}
		} else {
			ids[i] = id
			id++
		}
		if mode == 1 {
			g.UUID = "" // as the vendor's library has it
		}
		device(&b, ids[i], g, mode)
	}
	graph, _ := topology.New(n)
	down := map[[2]int]bool{}
	for _, l := range n.Links {
		down[[2]int{l.A, l.B}] = l.Down
	}
	for i := range ids {
		for j := range i {
			level := levels[graph.Kind(i, j)]
			if down[[2]int{j, i}] {
				level = 5
			}
			fmt.Fprintln(&b, "link", ids[i], ids[j], level)
		}
	}
	return b.String()
}

func device(b *strings.Builder, id int, g gpu.GPU, mode int) {
	state, toggle, class, sriov := 0, 0, 0, 1
	if g.SRIOV == gpu.SRIOVForbidden {
		sriov = 0
	}
	if g.Healthy {
		state = 1
	}
	if g.Mode == gpu.ModeSGPU {
		toggle = 1
	}
	for _, s := range g.Slices {
		if s.Kind == gpu.SliceSGPU {
			class = int(mxsml.Class(s.QoS))
			fmt.Fprintln(b, "slice", id, s.Index, word(s.UUID), word(s.Alias), s.ComputePercent, s.MemoryMiB)
		}
	}
	fmt.Fprintln(b, "device", id, g.BDF, word(string(g.UUID)), word(g.Model), word(g.Serial), "CHIP"+fmt.Sprint(id),
		g.MemoryMiB<<10, state, 0, "-", mode, 0, toggle, class, word(g.VBIOS), sriov)
}

// word is one word of the file.
func word(s string) string {
	if s == "" {
		return "-"
	}
	return strings.ReplaceAll(s, " ", "_")
}

// vfUUID is the UUID of a virtual function; empty if that of its GPU is.
func vfUUID(g gpu.GPU, k int) gpu.UUID {
	if g.UUID == "" {
		return ""
	}
	return gpu.UUID(fmt.Sprintf("%s-vf%d", g.UUID, k))
}
