// SPDX-License-Identifier: Apache-2.0

package discover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// mergeReported adds what source reports about GPUs to node, whose GPUs the kernel found. A
// GPU that only source lists is left out, with a warning.
func mergeReported(node *gpu.Node, reported gpu.Node, source string) {
	warn := func(format string, a ...any) {
		node.Warnings = append(node.Warnings, fmt.Sprintf(format, a...))
	}
	to := map[int]int{} // index in reported → index in node
	for _, t := range reported.GPUs {
		at := slices.IndexFunc(node.GPUs, func(g gpu.GPU) bool { return g.BDF == t.BDF })
		switch {
		case at >= 0:
			to[t.Index] = at
			copyVendorFacts(&node.GPUs[at], t)
		case !isVF(*node, t.BDF):
			warn("ignored GPU %s: %s lists it, the kernel does not", t.BDF, source)
		}
	}
	dropSharedSliceUUIDs(node)
	byPCIe := topologyOf(*node)
	for _, l := range reported.Links {
		a, ok1 := to[l.A]
		b, ok2 := to[l.B]
		if !ok1 || !ok2 {
			continue
		}
		kind, ok := topology.ParseKind(l.Kind)
		if !ok {
			warn("ignored the link between GPUs %s and %s: %s reports the unknown kind %q", node.GPUs[a].BDF, node.GPUs[b].BDF,
				source, l.Kind)
			continue
		}
		l.A, l.B = min(a, b), max(a, b)
		if addsToPCIe(l, kind, byPCIe) {
			node.Links = append(node.Links, l)
		}
	}
	gpu.SortLinks(node.Links)
}

// copyVendorFacts copies what only the vendor's software knows about a GPU. A GPU is
// healthy if both the kernel and the vendor's software report it as healthy.
func copyVendorFacts(g *gpu.GPU, t gpu.GPU) {
	g.UUID, g.Serial, g.MemoryMiB = t.UUID, t.Serial, t.MemoryMiB
	if t.Model != "" {
		g.Model = t.Model
	}
	g.VBIOS = t.VBIOS
	if g.SRIOV == gpu.SRIOVOff && t.SRIOV == gpu.SRIOVForbidden { // the kernel sees the bus, the library the firmware
		g.SRIOV = t.SRIOV
	}
	g.Healthy = g.Healthy && t.Healthy
	g.Mode = cmp.Or(g.Mode, t.Mode)
	mergeSlices(g, t.Slices)
}

// mergeSlices adds what the vendor's software reports about a GPU's slices to what the
// kernel reports. If the kernel lists slices of a kind, slices of that kind that it
// does not list are dropped; virtual functions that it does not list always are.
func mergeSlices(g *gpu.GPU, reported []gpu.Slice) {
	listed := map[string]bool{}
	for _, s := range g.Slices {
		listed[s.Kind] = true
	}
	for _, t := range reported {
		at := slices.IndexFunc(g.Slices, func(s gpu.Slice) bool { return isSame(s, t) })
		switch {
		case at >= 0:
			s := &g.Slices[at]
			s.UUID, s.Alias, s.QoS = cmp.Or(s.UUID, t.UUID), cmp.Or(s.Alias, t.Alias), cmp.Or(s.QoS, t.QoS)
			s.ComputePercent, s.MemoryMiB = cmp.Or(s.ComputePercent, t.ComputePercent), cmp.Or(s.MemoryMiB, t.MemoryMiB)
		case !listed[t.Kind] && (t.Kind == gpu.SliceSGPU || slices.Contains(g.VFs, t.BDF)):
			t.Nodes, t.GIDs, t.NodeGIDs = nil, nil, nil // in a record they may be out of date
			if t.Kind == gpu.SliceSGPU {
				t.Nodes = sysfs.RenderNodes(*g)
				owner := map[string]uint32{}
				for _, node := range t.Nodes {
					if gid := gpu.NodeGID(node, g.GIDs, g.NodeGIDs); gid != 0 {
						owner[node] = gid
					}
				}
				t.GIDs, t.NodeGIDs = gpu.Groups(t.Nodes, owner)
			}
			g.Slices = append(g.Slices, t)
		}
	}
	gpu.SortSlices(g.Slices)
}

// isSame reports whether two slices of a GPU are the same one. The UUID decides,
// because a new slice may have the number of a removed one.
func isSame(a, b gpu.Slice) bool {
	switch {
	case a.Kind != b.Kind:
		return false
	case a.Kind == gpu.SliceVF:
		return a.BDF == b.BDF
	case a.UUID != "" && b.UUID != "":
		return strings.EqualFold(a.UUID, b.UUID)
	}
	return a.Index == b.Index
}

// dropSharedSliceUUIDs clears a UUID that several slices have, on all of them: the
// kernel may report it for one slice and the vendor's software for another.
func dropSharedSliceUUIDs(node *gpu.Node) {
	count := map[string]int{}
	for _, g := range node.GPUs {
		for _, s := range g.Slices {
			count[strings.ToLower(s.UUID)]++
		}
	}
	for _, g := range node.GPUs {
		for i, s := range g.Slices {
			if s.UUID != "" && count[strings.ToLower(s.UUID)] > 1 {
				node.Warnings = append(node.Warnings,
					fmt.Sprintf("ignored the UUID %s of slice %d of GPU %s: another slice has the same", s.UUID, s.Index, g.BDF))
				g.Slices[i].UUID = ""
			}
		}
	}
}

// addsToPCIe reports whether a link says more than the PCIe and NUMA positions do. A
// pair that the source calls unknown keeps the class of its PCIe position.
func addsToPCIe(l gpu.Link, kind topology.Kind, byPCIe *topology.Graph) bool {
	return l.Down || l.GBps > 0 || (kind != topology.Unknown && kind != byPCIe.Kind(l.A, l.B))
}

func isVF(n gpu.Node, b gpu.BDF) bool {
	return slices.ContainsFunc(n.GPUs, func(g gpu.GPU) bool { return slices.Contains(g.VFs, b) })
}

// matchListed compares the GPUs that the kernel found with those that the source lists
// now. A GPU that only the kernel lists has probably fallen off the bus: its device
// nodes may still exist, but it must not be given to a container, so it becomes
// unhealthy. A GPU that only the source lists is added without device nodes. Then all
// are numbered again. An empty list means that the source could not list GPUs; then
// nothing changes.
func matchListed(node *gpu.Node, t vendorAnswer, orphans []gpu.BDF) {
	if len(t.listed) == 0 {
		return
	}
	warn := func(format string, a ...any) {
		node.Warnings = append(node.Warnings, fmt.Sprintf(format, a...))
	}
	for i, g := range node.GPUs {
		if !slices.Contains(t.listed, g.BDF) {
			node.GPUs[i].Healthy = false
			warn("GPU %s cannot be used: %s does not list it; it may have fallen off the bus", g.BDF, t.source)
		}
	}
	for _, b := range t.listed {
		_, known := node.Lookup(b)
		// 0000:00:00.0 is always a host bridge, never a GPU.
		if known || isVF(*node, b) || slices.Contains(orphans, b) || b == (gpu.BDF{}) {
			continue
		}
		node.GPUs = append(node.GPUs, gpu.GPU{BDF: b, NUMA: gpu.NUMAUnknown})
		warn("GPU %s cannot be used: %s lists it, the kernel does not", b, t.source)
	}
	slices.SortFunc(node.GPUs, func(a, b gpu.GPU) int { return a.BDF.Compare(b.BDF) })
	for i := range node.GPUs {
		node.GPUs[i].Index = i
	}
}
