// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// mxcd is the directory of the driver's own class. Below it, layout/nodes has a directory for
// each processor, GPU, virtual function and sGPU, in this order; links refer to them by
// number.
const mxcd = "sys/devices/virtual/mxcd/mxcd"

// firstSlice is the number of the first sGPU's node: more than processors and GPUs have.
// mx-smi-sgpu.sh has it as well.
const firstSlice = 8192

// rowTypes are the driver's numbers of the kinds of links. Other numbers and missing rows mean
// that there is no link. cpuRow is that of a GPU and the processor of its NUMA node.
var rowTypes = map[topology.Kind]int{
	topology.MX: 4, topology.PIX: 101, topology.PXB: 102, topology.PHB: 103, topology.NODE: 104, topology.SYS: 105,
}

const cpuRow = 3

// maxRows is the largest number of GPUs that all have rows for each other. Those of a larger
// node have rows for MetaXLink alone, because 64 GPUs would have 4,032: the class of the other
// pairs follows from PCIe and NUMA.
const maxRows = 16

// distances are made up: no layout of a host is published.
var distances = map[int]int{4: 1, 101: 4, 102: 8, 103: 12, 104: 16, 105: 32, cpuRow: 20}

// layoutNode is one directory of layout/nodes.
type layoutNode struct {
	number   int
	kind     string // "gpu", "sgpu-parent-dev" or "sgpu-sub-dev"
	bdf      gpu.BDF
	id       string // the UUID without its prefix
	inactive bool
	isVF     bool
	nodes    []string // of which the render node counts
	topology int
}

// drives reports whether the driver serves a function and so shows more about it. Its own
// directory is that of /dev/mxcd, and so is the layout.
func (h *host) drives(f function) bool {
	s := h.node.Shared
	if (f.driver != module && f.driver != pfModule) || s == nil {
		return false
	}
	_, found := h.tree[mxcd+"/dev"]
	return found
}

// addLayout adds the driver's layout, and its attributes of each GPU, in the form that
// libmxsml reads.
func (h *host) addLayout() {
	if _, found := h.tree[mxcd+"/dev"]; !found {
		return
	}
	h.addFile(mxcd+"/layout/properties", fmt.Sprintf("num_cpu_nodes %d\n", h.cpus.nodes))
	for k := range h.cpus.nodes {
		dir := fmt.Sprintf("%s/layout/nodes/%d", mxcd, k)
		h.addFile(dir+"/gpu_id", "0\n")
		h.addFile(dir+"/type", "cpu\n")
	}
	graph, _ := topology.New(h.node)
	fabrics := linksByGPU(h.node, graph)
	part, vf := firstSlice, h.cpus.nodes+len(h.node.GPUs)
	for i, g := range h.node.GPUs {
		f := h.fabric.gpus[i]
		if !h.drives(f) {
			continue
		}
		h.addSMIFiles(f.sysfsDir()+"/smi", g, fabrics[i])
		if f.driver == pfModule {
			vf += h.addVFLayout(g, vf)
			continue
		}
		node := layoutNode{
			number: h.cpus.nodes + i, kind: "gpu", bdf: g.BDF, id: strings.TrimPrefix(string(g.UUID), "GPU-"),
			inactive: !g.Healthy,
			nodes:    g.Nodes, topology: fabrics[i].number,
		}
		if g.Mode == gpu.ModeSGPU {
			node.kind = "sgpu-parent-dev"
		}
		dir := h.addLayoutNode(node)
		h.addRows(dir, i, graph)
		for _, s := range g.Slices {
			if id, ok := strings.CutPrefix(s.UUID, "GPU-"); ok && s.Kind == gpu.SliceSGPU {
				h.addSliceLayout(f.sysfsDir(),
					layoutNode{number: part, kind: "sgpu-sub-dev", bdf: g.BDF, id: id, inactive: !g.Healthy, nodes: s.Nodes}, s)
				part++
			}
		}
	}
}

// addLayoutNode adds a node without its links.
func (h *host) addLayoutNode(n layoutNode) (dir string) {
	dir = fmt.Sprintf("%s/layout/nodes/%d", mxcd, n.number)
	isVF := 0
	if n.isVF {
		isVF = 1
	}
	h.addFile(dir+"/gid", fmt.Sprintf("%d\n", 10000+n.number)) // the driver's id of it, by which processes refer to it
	h.addFile(dir+"/type", n.kind+"\n")
	h.addFile(dir+"/location", n.bdf.String()+"\n")
	h.addFile(dir+"/properties",
		fmt.Sprintf("drm_render_minor %d\nis_vf %d\ntopology_id %d\n", renderMinor(n.nodes), isVF, n.topology))
	if n.id != "" {
		h.addFile(dir+"/unique_id", n.id+"\n")
	}
	if n.inactive {
		h.addFile(dir+"/active", "0\n")
		h.addFile(dir+"/inactive_reason", "1\nsimulated\n")
	} else {
		h.addFile(dir+"/active", "1\n")
	}
	return dir
}

// renderMinor is the minor number of a render node; 0 without one.
func renderMinor(nodes []string) int {
	for _, node := range nodes {
		if n, err := strconv.Atoi(strings.TrimPrefix(path.Base(node), "renderD")); err == nil {
			return n
		}
	}
	return 0
}

// addRows adds the links of GPU i: to the processor of its NUMA node, and to the other GPUs.
func (h *host) addRows(dir string, i int, graph *topology.Graph) {
	row, from := 0, h.cpus.nodes+i
	add := func(kind, to int) {
		h.addFile(fmt.Sprintf("%s/direct_links/%d/properties", dir, row),
			fmt.Sprintf("type %d\nfrom %d\nto %d\ndistance %d\n", kind, from, to, distances[kind]))
		row++
	}
	if numa := h.node.GPUs[i].NUMA; numa != gpu.NUMAUnknown {
		add(cpuRow, numa)
	}
	for j := range h.node.GPUs {
		kind := graph.Kind(i, j)
		if row, ok := rowTypes[kind]; ok && i != j && (kind == topology.MX || len(h.node.GPUs) <= maxRows) {
			add(row, h.cpus.nodes+j)
		}
	}
}

// addVFLayout adds the nodes of the virtual functions that a driver serves, and the driver's
// list of all of them, which only adds the state. It returns how many there are.
func (h *host) addVFLayout(g gpu.GPU, first int) int {
	var list strings.Builder
	for k, b := range g.VFs {
		fmt.Fprintf(&list, "VF #%d\nBusId:%s\nVF State:Active\n", k+1, b)
		s, f := sliceAt(g, b), h.fabric.functions[b]
		if f.driver != module {
			continue
		}
		part := g
		part.Model, part.MemoryMiB, part.Serial = g.Model+" VF", cmp.Or(s.MemoryMiB, memoryMiB/len(g.VFs)), ""
		h.addSMIFiles(f.sysfsDir()+"/smi", part, metaxlink{})
		h.addLayoutNode(layoutNode{
			number: first + k, kind: "gpu", bdf: b, id: strings.TrimPrefix(s.UUID, "GPU-"), isVF: true,
			nodes: s.Nodes,
		})
	}
	h.addFile(h.fabric.functions[g.BDF].sysfsDir()+"/gpuvf", list.String())
	return len(g.VFs)
}

// addSliceLayout adds the node of an sGPU, the sGPU's reference to it, and its use.
func (h *host) addSliceLayout(pci string, n layoutNode, s gpu.Slice) {
	dir := h.addLayoutNode(n)
	h.addFile(dir+"/local_id", fmt.Sprintf("%d\n", s.Index))
	at := fmt.Sprintf("%s/sgpu/sgpu%d", pci, s.Index)
	h.addFile(at+"/node_id", fmt.Sprintf("%d\n", n.number))
	h.addFile(at+"/gpu_id", fmt.Sprintf("%d\n", 10000+n.number))
	use := fmt.Sprintf("%s/smi/sgpu%d", pci, s.Index)
	h.addFile(use+"/meminfo", fmt.Sprintf("total %d\nused 0\nfree %[1]d\n", s.MemoryMiB<<20)) // in bytes
	h.addFile(use+"/utilization", "0\n")
	h.addFile(use+"/overrun", "0\n")
}
