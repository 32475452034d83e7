// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// nicKind returns the kind of the PCIe link between a GPU and a network card.
func nicKind(g gpu.GPU, n gpu.NIC) topology.Kind { return topology.PCIeKind(g, nicPlace(n)) }

// nicPlace returns the place of a network card as that of a GPU.
func nicPlace(n gpu.NIC) gpu.GPU {
	return gpu.GPU{BDF: n.BDF, NUMA: n.NUMA, PCIeRoot: n.PCIeRoot, PCIePath: n.PCIePath, PCIeSwitch: n.PCIeSwitch}
}

// nicMatrix returns, by GPU and network card, the kind of the link between them; nil without
// network cards.
func nicMatrix(n gpu.Node) [][]topology.Kind {
	if len(n.NICs) == 0 {
		return nil
	}
	kinds := make([][]topology.Kind, len(n.GPUs))
	for i, g := range n.GPUs {
		for _, c := range n.NICs {
			kinds[i] = append(kinds[i], nicKind(g, c))
		}
	}
	return kinds
}

// nicLines describes the network cards, those with equal links to the GPUs together: "NIC
// 0,1 (mlx5_0, mlx5_1): PIX to GPU 0-3, NODE to GPU 4-7".
func (s *checkedView) nicLines() (lines []string) {
	type group struct {
		nics  []int
		names []string
	}
	var order []string
	groups := map[string]group{}
	for i, n := range s.nics {
		var to []string
		for _, k := range topology.Kinds() {
			var gpus []int
			for g := range s.gpus {
				if nicKind(s.gpus[g], n) == k {
					gpus = append(gpus, g)
				}
			}
			if gpus != nil {
				to = append(to, fmt.Sprintf("%v to GPU %s", k, wording.Ranges(gpus)))
				s.named[k] = true
			}
		}
		links := strings.Join(to, ", ")
		g, known := groups[links]
		if !known {
			order = append(order, links)
		}
		groups[links] = group{append(g.nics, i), append(g.names, terminal.Line(n.Name))}
	}
	for _, links := range order {
		g := groups[links]
		lines = append(lines, fmt.Sprintf("NIC %s (%s): %s", wording.Ranges(g.nics), wording.Some(g.names, 4), links))
	}
	return lines
}

// nicsAt returns, by the label of a place in the tree of the GPUs, the network cards of which
// it is the nearest place.
func (s *checkedView) nicsAt() map[string][]int {
	at := map[string][]int{}
	labels := bridgeLabels(s.gpus, s.bridgeName)
	for i, n := range s.nics {
		g := nicPlace(n)
		nearest := hostBridgeLabel(g)
		for _, b := range bridgePath(g) {
			if label := labels[bridge{g.PCIeRoot, b}]; label != "" {
				nearest = label
			}
		}
		at[nearest] = append(at[nearest], i)
	}
	return at
}
