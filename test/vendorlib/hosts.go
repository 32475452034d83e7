// SPDX-License-Identifier: Apache-2.0

package vendorlib

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// Host is a simulated host. Node is what discovery finds there; empty if it has to look.
type Host struct {
	Name string
	Tree sim.Tree
	Node gpu.Node
}

// Nodes is where a tree has the nodes of the driver's layout.
const Nodes = "sys/devices/virtual/mxcd/mxcd/layout/nodes/"

// faults are changes of a built-in node's host that the built-in nodes do not have.
var faults = map[string]struct {
	node   string
	change func(h *Host)
}{
	"inactive": {"c500-8", func(h *Host) {
		h.Tree[Nodes+"5/active"], h.Tree[Nodes+"5/inactive_reason"] = text("0"), text("7\nmemory fault")
	}},
	"lost-from-the-bus": {"c500-8", func(h *Host) {
		delete(h.Tree, "sys/bus/pci/devices/"+h.Node.GPUs[2].BDF.String())
		h.drop("dev/dri/renderD130") // by which mx-smi knows it
	}},
	"no-layout-node":    {"c500-8", func(h *Host) { h.drop(Nodes + "4/") }},
	"smi-unreadable":    {"c500-8", func(h *Host) { h.drop(h.Function(5) + "/smi/") }},
	"no-driver-answers": {"c500-1", func(h *Host) { h.drop(Nodes + "2/") }},
	"busy": {"c500-8-sgpu", func(h *Host) {
		for i := range h.Node.GPUs {
			smi := h.Function(i) + "/smi/"
			for name, value := range busy {
				h.Tree[smi+name] = text(value)
			}
			for p := range h.Tree {
				switch {
				case strings.HasPrefix(p, smi) && strings.HasSuffix(p, "/meminfo"):
					h.Tree[p] = text("total 4096000\nused 1234\nfree 4094766")
				case strings.HasPrefix(p, smi) && strings.HasSuffix(p, "/utilization"):
					h.Tree[p] = text("1234")
				}
			}
		}
	}},
	"two-dies": {"c500-1", func(h *Host) {
		smi := h.Function(0) + "/smi"
		for p, e := range h.Tree {
			if rest, ok := strings.CutPrefix(p, smi+"/"); ok {
				h.Tree[smi+"1/"+rest] = e
			}
		}
	}},
	"ethernet": {"c500-8", func(h *Host) {
		for p, e := range h.Tree {
			if f, ok := e.(sim.File); ok && strings.HasPrefix(p, Nodes) && strings.HasPrefix(f.Data, "type 4\n") {
				h.Tree[p] = sim.File{Data: "type 5\n" + strings.TrimPrefix(f.Data, "type 4\n")}
			}
		}
	}},
	"other-class": {"c500-1", func(h *Host) {
		h.Tree["sys/class/metax/mxcd"] = h.Tree["sys/class/mxcd/mxcd"]
		h.Tree["sys/class/mxcd/mxcd"] = sim.Dir{}
	}},
}

// busy are attributes of which each value differs from the others.
var busy = map[string]string{
	"showtemp": "hotspot: 4210\nhotlimit: 9500\nsoc: 3700\ncore: 3800\nhbm: 4500", "showuse": "encoder: 11 12 13 14\ndecoder: 20 30 40 50 60 70 80 90",
	"showboardpowerinfo": "way: 12000 100 1201\nway: 12000 100 1302\nway: 12000 100 1403", "capability": "power limit: 300500",
	"showclocks": "csc: 1001\ndla: 1002\nmc: 1003\nmc0: 1004\nmc1: 1005\nvpue: 1006 7\nvpud: 1007\nsoc: 1008\ndnoc: 1009\nccx: 1010\nxcore: 1011 8",
	"pmdecsrc":   "reason: 12", "pcicurrentlinkspeed": "8.0 GT/s", "pcicurrentlinkwidth": "4",
	"showupstreambandwidth": numbered(1, 6), "showmetalkibandwidth": numbered(11, 14), "showmetalktbandwidth": numbered(31, 14),
	"metalki_traffic_stat": numbered(51, 14), "metalkt_traffic_stat": numbered(71, 14), "showmetalkaer": numbered(100, 14),
	"showmeminfo": "vis vram: 1000000\nvram: 67108864\nxtt: 3000000", "showmemuse": "vis vram: 1000\nvram: 2500\nxtt: 300",
	"ras_show_mem_ecc_info": "sram ce: 10\nsram ue: 11\ndram ce: 12\ndram ue: 13\nretired page: 14\nother: 15", "showxcuse": "xcore: 1f",
}

// numbered are lines with rising numbers.
func numbered(first, count int) string {
	lines := make([]string, count)
	for i := range lines {
		lines[i] = fmt.Sprintf("value: %d", first+i)
	}
	return strings.Join(lines, "\n")
}

func text(s string) sim.File { return sim.File{Data: s + "\n"} }

// drop removes the files below a directory.
func (h *Host) drop(prefix string) {
	for p := range h.Tree {
		if strings.HasPrefix(p, prefix) {
			delete(h.Tree, p)
		}
	}
}

// Function is the directory of a GPU's PCI function.
func (h *Host) Function(i int) string {
	at := "sys/bus/pci/devices/" + h.Node.GPUs[i].BDF.String()
	return path.Join(path.Dir(at), string(h.Tree[at].(sim.Link)))
}

// Hosts are all cases: the built-in nodes as they are, and more. smi is the file of
// metax-sim-smi.
func Hosts(t testing.TB, smi []byte) (all []Host) {
	node := func(name string) gpu.Node {
		n, err := sim.Node(name)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	add := func(name string, n gpu.Node) *Host {
		tree, err := sim.HostTree(n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Host{name, sim.WithSMI(tree, n, smi), n})
		return &all[len(all)-1]
	}
	for _, name := range append(sim.Names(), "sim:2x2x4") {
		add(strings.ReplaceAll(name, ":", "-"), node(name))
	}
	full := node("c500-1")
	full.GPUs[0].Mode = gpu.ModeSGPU
	for k := range gpu.MaxSlices {
		full.GPUs[0].Slices = append(full.GPUs[0].Slices, gpu.Slice{
			Kind: gpu.SliceSGPU, Index: k, UUID: fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", k), Alias: fmt.Sprint("s", k), QoS: gpu.QoSFixedShare,
			ComputePercent: 5 + k%2, MemoryMiB: 2048 + 128*k, Nodes: full.GPUs[0].Nodes[1:], GIDs: full.GPUs[0].GIDs,
		})
	}
	add("full-of-slices", full)
	for name, fault := range faults {
		h := add(name, node(fault.node))
		fault.change(h)
		h.Node = gpu.Node{}
	}
	return all
}
