package vendorlib_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// host is a simulated host. node is what discovery finds there; empty if it has to look.
type host struct {
	name string
	tree sim.Tree
	node gpu.Node
}

const nodes = "sys/devices/virtual/mxcd/mxcd/layout/nodes/"

// faults are changes of a built-in node's host that the built-in nodes do not have.
var faults = map[string]struct {
	node   string
	change func(h *host)
}{
	"inactive": {"c500-8", func(h *host) {
		h.tree[nodes+"5/active"], h.tree[nodes+"5/inactive_reason"] = text("0"), text("7\nmemory fault")
	}},
	"lost-from-the-bus": {"c500-8", func(h *host) {
		delete(h.tree, "sys/bus/pci/devices/"+h.node.GPUs[2].BDF.String())
		h.drop("dev/dri/renderD130") // by which mx-smi knows it
	}},
	"no-layout-node":    {"c500-8", func(h *host) { h.drop(nodes + "4/") }},
	"smi-unreadable":    {"c500-8", func(h *host) { h.drop(h.function(5) + "/smi/") }},
	"no-driver-answers": {"c500-1", func(h *host) { h.drop(nodes + "2/") }},
	"two-dies": {"c500-1", func(h *host) {
		smi := h.function(0) + "/smi"
		for p, e := range h.tree {
			if rest, ok := strings.CutPrefix(p, smi+"/"); ok {
				h.tree[smi+"1/"+rest] = e
			}
		}
	}},
	"ethernet": {"c500-8", func(h *host) {
		for p, e := range h.tree {
			if f, ok := e.(sim.File); ok && strings.HasPrefix(p, nodes) && strings.HasPrefix(f.Data, "type 4\n") {
				h.tree[p] = sim.File{Data: "type 5\n" + strings.TrimPrefix(f.Data, "type 4\n")}
			}
		}
	}},
	"other-class": {"c500-1", func(h *host) {
		h.tree["sys/class/metax/mxcd"] = h.tree["sys/class/mxcd/mxcd"]
		h.tree["sys/class/mxcd/mxcd"] = sim.Dir{}
	}},
}

func text(s string) sim.File { return sim.File{Data: s + "\n"} }

// drop removes the files below a directory.
func (h *host) drop(prefix string) {
	for p := range h.tree {
		if strings.HasPrefix(p, prefix) {
			delete(h.tree, p)
		}
	}
}

// function is the directory of a GPU's PCI function.
func (h *host) function(i int) string {
	at := "sys/bus/pci/devices/" + h.node.GPUs[i].BDF.String()
	return path.Join(path.Dir(at), string(h.tree[at].(sim.Link)))
}

// hosts are all cases: the built-in nodes as they are, and more.
func hosts(t *testing.T) (all []host) {
	add := func(name string, n gpu.Node) *host {
		tree, err := sim.HostTree(n)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, host{name, tree, n})
		return &all[len(all)-1]
	}
	for _, name := range append(sim.Names(), "sim:2x2x4") {
		add(strings.ReplaceAll(name, ":", "-"), simtest.Node(t, name))
	}
	full := simtest.Node(t, "c500-1")
	full.GPUs[0].Mode = gpu.ModeSGPU
	for k := range gpu.MaxSlices {
		full.GPUs[0].Slices = append(full.GPUs[0].Slices, gpu.Slice{
			Kind: gpu.SliceSGPU, Index: k, UUID: fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", k), Alias: fmt.Sprint("s", k), QoS: gpu.QoSFixedShare,
			ComputePercent: 5 + k%2, MemoryMiB: 2048 + 128*k, Nodes: full.GPUs[0].Nodes[1:], GIDs: full.GPUs[0].GIDs,
		})
	}
	add("full-of-slices", full)
	for name, fault := range faults {
		h := add(name, simtest.Node(t, fault.node))
		fault.change(h)
		h.node = gpu.Node{}
	}
	return all
}
