// SPDX-License-Identifier: Apache-2.0

package topology

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// pcieLocality compares the places of two GPUs. The same stated PCIe switch decides; otherwise
// the paths below a common host bridge, then the NUMA nodes.
func pcieLocality(a, b gpu.GPU) Locality {
	if a.PCIeSwitch != nil && b.PCIeSwitch != nil && *a.PCIeSwitch == *b.PCIeSwitch {
		return SameSwitch
	}
	if a.PCIeRoot != "" && a.PCIeRoot == b.PCIeRoot {
		common := 0
		for common < min(len(a.PCIePath), len(b.PCIePath)) && a.PCIePath[common] == b.PCIePath[common] {
			common++
		}
		// Below a switch's upstream port, each GPU has its own downstream port, so one
		// further bridge on each side still belongs to that switch.
		below := max(len(a.PCIePath), len(b.PCIePath)) - common
		switch {
		case common == 0:
			return SameHostBridge
		case below <= 1:
			return SameSwitch
		}
		return SeveralBridges
	}
	switch {
	case a.NUMA == gpu.NUMAUnknown || b.NUMA == gpu.NUMAUnknown:
		return LocalityUnknown
	case a.NUMA == b.NUMA:
		return SameNUMA
	}
	return OtherNUMA
}

// PCIeKind returns the kind of the PCIe link between two GPUs.
func PCIeKind(a, b gpu.GPU) Kind { return pcieLocality(a, b).pcieKind() }

// pcieKind returns the kind of a pair whose only link is PCIe.
func (l Locality) pcieKind() Kind {
	return [...]Kind{Unknown, SYS, NODE, PHB, PXB, PIX}[l]
}
