// SPDX-License-Identifier: Apache-2.0

package inventory

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// VFIO returns the GPUs of a node that are bound to vfio-pci, for virtual machines, in the
// order of their addresses. Their IDs are the addresses, because nobody may know their UUIDs.
// All count as healthy: the vendor's software cannot ask them.
func VFIO(n gpu.Node, o Options) (devices []Device) {
	for _, g := range n.GPUs {
		if !g.SetAside() || o.excludes(g) {
			continue
		}
		d := Device{ID: g.BDF.String(), GPU: g.Index, UUID: g.UUID, BDF: g.BDF, Healthy: true}
		if g.NUMA >= 0 {
			d.NUMA = new(g.NUMA)
		}
		devices = append(devices, d)
	}
	return devices
}
