// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// linkPorts is how many ports of MetaXLink a GPU has, numbered from 1.
const linkPorts = 7

// metaxlink is how a GPU is joined to others by MetaXLink.
type metaxlink struct {
	number, socket int // the wiring's number in libmxsml, and the GPU's place in it
	isUp           [linkPorts]bool
}

// wirings are those that libmxsml knows, by the number of GPUs: its number of them, and for
// each socket and port the socket at the other end.
var wirings = map[int]struct {
	number int
	ends   [][linkPorts]int
}{
	2: {1, [][linkPorts]int{{-1, -1, -1, 1, 1, -1, -1}, {-1, -1, -1, 0, 0, -1, -1}}},
	4: {4, [][linkPorts]int{
		{2, 3, 1, -1, -1, -1, -1},
		{3, 2, 0, -1, -1, -1, -1},
		{0, 1, 3, -1, -1, -1, -1},
		{1, 0, 2, -1, -1, -1, -1},
	}},
	8: {3, [][linkPorts]int{
		{4, 7, 3, 1, 6, 2, 5},
		{5, 6, 2, 3, 7, 0, 4},
		{6, 5, 1, 4, 3, 0, 7},
		{7, 4, 0, 1, 2, 5, 6},
		{0, 3, 7, 2, 5, 6, 1},
		{1, 2, 6, 7, 4, 3, 0},
		{2, 1, 5, 7, 0, 4, 3},
		{3, 0, 4, 5, 1, 6, 2},
	}},
}

// linksByGPU are the links of each GPU. A set of another size has the ports in turn and no
// number, by which libmxsml does not know what is at their other ends.
func linksByGPU(n gpu.Node, graph *topology.Graph) []metaxlink {
	links := make([]metaxlink, len(n.GPUs))
	for _, set := range linkedSets(n) {
		wiring, known := wirings[len(set)]
		for socket, i := range set {
			links[i].number, links[i].socket = wiring.number, socket
			for port := range linkPorts {
				end := -1
				if known {
					end = wiring.ends[socket][port]
				} else if port < len(set)-1 {
					end = (socket + 1 + port) % len(set)
				}
				links[i].isUp[port] = end >= 0 && graph.Kind(i, set[end]) == topology.MX
			}
		}
	}
	return links
}

// linkedSets are the GPUs that MetaXLink joins, also by way of others, in sets of two or more.
func linkedSets(n gpu.Node) [][]int {
	set := make([]int, len(n.GPUs)) // the lowest GPU of the set
	for i := range set {
		set[i] = i
	}
	for again := true; again; {
		again = false
		for _, l := range n.Links {
			low := min(set[l.A], set[l.B])
			if l.Kind == topology.MX.String() && set[l.A] != set[l.B] {
				set[l.A], set[l.B], again = low, low, true
			}
		}
	}
	members := make([][]int, len(n.GPUs))
	for i, low := range set {
		members[low] = append(members[low], i)
	}
	var sets [][]int
	for _, m := range members {
		if len(m) > 1 {
			sets = append(sets, m)
		}
	}
	return sets
}

// The readings of an idle GPU, which mx-smi.sh also prints.
const (
	usedMiB     = 826
	hundredthsC = 35_00
	milliwatts  = 57_000
)

// powerLimit is the limit of a board in milliwatt, by its model.
func powerLimit(model string) int {
	switch {
	case strings.HasPrefix(model, "MXC550"):
		return 450_000
	case strings.HasPrefix(model, "MXN260"):
		return 225_000
	}
	return 350_000
}

// addSMIFiles adds the driver's attributes of a GPU, in the form that libmxsml reads: it takes
// the labels of temperatures, clocks, serial numbers and ports by their names, and ignores
// others.
func (h *host) addSMIFiles(dir string, g gpu.GPU, link metaxlink) {
	put := func(name, format string, a ...any) { h.addFile(dir+"/"+name, fmt.Sprintf(format, a...)+"\n") }
	put("pcipowerstate", "D0") // without this and the next, libmxsml does not list the GPU
	put("showvendorid", "9999")
	if g.Model != "" {
		put("showcardname", "%s", g.Model)
	}
	major := 10
	if strings.HasPrefix(g.Model, "MXN") {
		major = 0
	}
	put("showisaversion", "major: %d\nminor: 0", major)
	if d := h.node.Driver; d != nil {
		put("showdriverversion", "driver version: %s", d.Version)
	}
	put("showvbios", "vbios version: %s", g.VBIOS)
	if g.Serial != "" {
		put("showe2prominfo", "pcba serial number: % x", g.Serial)
	}
	h.addReadings(put, g)
	ports := func(label string, up, down string) {
		var text strings.Builder
		for k, isUp := range link.isUp {
			value := down
			if isUp {
				value = up
			}
			fmt.Fprintf(&text, "port%d: %s\n", k+1, value)
		}
		h.addFile(dir+"/"+label, text.String())
	}
	ports("showmetalkspeed", "32.0", "0")
	ports("showmetalkwidth", "16", "0")
	ports("showmetalkstatus", "1", "5") // of the states nothing is published
	put("metalink_ctrl", "0\nenabled")
	put("showtopology", "topology id: %d\nsocket id: %d\ndie id: 0", link.number, link.socket)
	for _, name := range []string{
		"showmetalkibandwidth", "showmetalktbandwidth", "metalki_traffic_stat",
		"metalkt_traffic_stat", "showmetalkaer",
	} {
		h.addFile(dir+"/"+name, strings.Repeat("value: 0\n", 2*linkPorts))
	}
}

// addReadings adds what a GPU measures: that of an idle one, as mx-smi has it.
func (h *host) addReadings(put func(name, format string, a ...any), g gpu.GPU) {
	if kib := g.MemoryMiB << 10; kib > 0 {
		used := min(usedMiB<<10, kib)
		put("showmeminfo", "vis vram: %d\nvram: %[1]d\nxtt: %[1]d", kib)
		put("showmemuse", "vis vram: %d\nvram: %[1]d\nxtt: 0", used)
	}
	put("showtemp", "hotspot: %d\nhotlimit: 9500\nsoc: %[1]d\ncore: %[1]d\nhbm: %[1]d", hundredthsC)
	way := fmt.Sprintf("way: 12000 %d %d\n", milliwatts/3/12, milliwatts/3)
	put("showboardpowerinfo", "%s", strings.TrimSuffix(strings.Repeat(way, 3), "\n"))
	put("capability", "power limit: %d", powerLimit(g.Model))
	put("showxcuse", "xcore: 0") // hexadecimal
	put("showuse", "encoder: 0 0 0 0 0 0 0 0\ndecoder: 0 0 0 0 0 0 0 0")
	put("showclocks",
		"csc: 1000\ndla: 1000\nmc: 1600\nmc0: 1600\nmc1: 1600\nvpue: 600\nvpud: 600\nsoc: 1000\ndnoc: 1000\nccx: 1000\nxcore: 1500")
	put("pmdecsrc", "reason: 0")
	put("pcicurrentlinkspeed", "32.0 GT/s")
	put("pcicurrentlinkwidth", "16")
	put("showupstreambandwidth", "%s", strings.TrimSuffix(strings.Repeat("value: 0\n", 6), "\n"))
	put("ras_show_mem_ecc_info", "sram ce: 0\nsram ue: 0\ndram ce: 0\ndram ue: 0\nretired page: 0\nother: 0")
}
