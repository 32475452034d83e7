package topology

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// NICKind returns the kind of the PCIe link between a GPU and a network card.
func NICKind(g gpu.GPU, n gpu.NIC) Kind { return locality(g, nicPlace(n)).kind() }

// nicPlace returns the place of a network card as that of a GPU.
func nicPlace(n gpu.NIC) gpu.GPU {
	return gpu.GPU{BDF: n.BDF, NUMA: n.NUMA, PCIeRoot: n.PCIeRoot, PCIePath: n.PCIePath, PCIeSwitch: n.PCIeSwitch}
}

// NICMatrix returns, by GPU and network card, the kind of the link between them; nil without
// network cards.
func NICMatrix(n gpu.Node) [][]Kind {
	if len(n.NICs) == 0 {
		return nil
	}
	kinds := make([][]Kind, len(n.GPUs))
	for i, g := range n.GPUs {
		for _, c := range n.NICs {
			kinds[i] = append(kinds[i], NICKind(g, c))
		}
	}
	return kinds
}
