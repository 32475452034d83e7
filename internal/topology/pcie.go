package topology

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// locality compares the places of two GPUs: first their chains of PCIe bridges,
// then their NUMA nodes. A Node that states only the nearest switch is compared
// by that.
func locality(a, b gpu.GPU) Locality {
	if a.PCIeSwitch != nil && b.PCIeSwitch != nil && *a.PCIeSwitch == *b.PCIeSwitch {
		return SameSwitch
	}
	if a.PCIeRoot != "" && a.PCIeRoot == b.PCIeRoot {
		common := 0
		for common < min(len(a.PCIePath), len(b.PCIePath)) && a.PCIePath[common] == b.PCIePath[common] {
			common++
		}
		// Below a switch's upstream port each GPU has a downstream port of its
		// own, so one further bridge on each side is still that one switch.
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

// kind is the class of a pair that has no other link than PCIe.
func (l Locality) kind() Kind {
	return [...]Kind{Unknown, SYS, NODE, PHB, PXB, PIX}[l]
}

func sorted(s []int) []int {
	slices.Sort(s)
	return s
}
