// SPDX-License-Identifier: Apache-2.0

package label

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsmi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func simulated(t testing.TB, name string) gpu.Node {
	t.Helper()
	n := simtest.Node(t, name)
	return n
}

// split gives every GPU n virtual functions.
func split(n int) func(*gpu.Node) {
	return func(node *gpu.Node) {
		for i := range node.GPUs {
			node.GPUs[i].SRIOV = gpu.SRIOVOn
			for k := range n {
				node.GPUs[i].VFs = append(node.GPUs[i].VFs, gpu.BDF{Domain: 1, Bus: uint8(i), Device: uint8(k)})
			}
		}
	}
}

// TestGolden has the labels of each built-in node, and of c500-8 with changes.
func TestGolden(t *testing.T) {
	type test struct {
		node    string
		product ProductName
		change  func(*gpu.Node)
	}
	tests := map[string]test{
		"product-mx-smi": {"c500-8", ProductMXSMI, func(*gpu.Node) {}},
		"mode-cloud":     {"c500-8", ProductManual, func(n *gpu.Node) { n.Driver.Mode = gpu.DriverCloud }},
		"sriov-forbidden": {"c500-8", ProductManual, func(n *gpu.Node) {
			for i := range n.GPUs {
				n.GPUs[i].SRIOV = gpu.SRIOVForbidden
			}
		}},
		"vfnum-1": {"c500-8", ProductManual, split(1)},
		"vfnum-2": {"c500-8", ProductManual, split(2)},
		"vfnum-4": {"c500-8", ProductManual, split(4)},
		"vfnum-8": {"c500-8", ProductManual, split(8)},
		"two-products": {"c500-8", ProductManual, func(n *gpu.Node) {
			n.GPUs[3].Model, n.GPUs[3].Product, n.GPUs[3].MemoryMiB = "MXN260", "N260", 32768
		}},
		"one-gpu-unknown": {"c500-8", ProductManual, func(n *gpu.Node) {
			split(4)(n)
			n.GPUs[3] = gpu.GPU{Index: 3, BDF: n.GPUs[3].BDF, NUMA: gpu.NUMAUnknown}
		}},
		"no-record": {"c500-8", ProductManual, func(n *gpu.Node) {
			n.Links, n.Warnings = nil, []string{mxsmi.LinksUnknown + ": no record"}
			for i := range n.GPUs {
				n.GPUs[i].MemoryMiB, n.GPUs[i].UUID = 0, ""
			}
		}},
		"not-loaded": {"c500-8", ProductManual, func(n *gpu.Node) {
			n.Driver, n.Shared = &gpu.Driver{Path: "/opt/mxdriver"}, nil
			n.Warnings = []string{"the kernel module metax is not loaded (sudo modprobe metax; details: metax-ctk doctor)"}
			for i := range n.GPUs {
				n.GPUs[i].Nodes = nil
			}
		}},
		"unknown-model": {"c500-8", ProductMXSMI, func(n *gpu.Node) {
			for i := range n.GPUs {
				n.GPUs[i].Model, n.GPUs[i].Product = "9999:4002", ""
			}
		}},
		"odd-values": {"c500-8", ProductMXSMI, func(n *gpu.Node) {
			n.Driver.Version, n.Driver.Mode = "2.5.014-rc1", "-native"
			n.MACA.Version = strings.Repeat("3.", 32)
			for i := range n.GPUs {
				n.GPUs[i].Model, n.GPUs[i].MemoryMiB = "MXC500 VF", 65452
			}
		}},
	}
	for _, name := range sim.Names() {
		tests[name] = test{name, ProductManual, func(*gpu.Node) {}}
	}
	// The labeler and the validation have these from elsewhere.
	given := map[string]string{protocol.LabelDriverHost: "", protocol.LabelValidated: "", protocol.LabelReason: ""}
	for name, test := range tests {
		n := simulated(t, test.node)
		test.change(&n)
		labels, warnings := Of(n, test.product)
		maps.Copy(given, labels)
		t.Run(name, func(t *testing.T) {
			got := string(Features(labels))
			for _, w := range warnings {
				got += "# " + w + "\n"
			}
			golden.Equal(t, "testdata/"+name+".txt", got)
		})
	}
	want := slices.Sorted(slices.Values(documented(t, "kubernetes-labels.md")))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(given))); diff != "" {
		t.Errorf("the labels (-documented +given):\n%s", diff)
	}
}
