// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
)

// Snapshot is what is known at one time. It is a value that nobody changes any more; its
// methods are safe for concurrent use.
type Snapshot struct {
	node    gpu.Node
	picker  *alloc.Picker
	devices []inventory.Device // in the order of inventory.Devices
	at      map[string]int     // the place of an ID in devices
	// Policy is how GPUs are picked if no pod says otherwise.
	Policy key.Policy
	// Outside are GPUs that containers outside Kubernetes use.
	Outside []gpu.BDF
	// Mixed leaves GPUs that are in use outside to those who use them.
	Mixed bool
	// Waiting are the containers of the node that may be asked for.
	Waiting Waiting
}

// New returns the Snapshot of a node and its devices. These are all devices, because the
// kubelet may still ask for one that is not listed any more. The tables of the picker are
// those of the Snapshot before, if the node's links have not changed since.
func New(node gpu.Node, devices []inventory.Device, before *Snapshot) *Snapshot {
	s := &Snapshot{node: node, devices: devices, at: map[string]int{}}
	for i, d := range devices {
		s.at[d.ID] = i
	}
	if before != nil && sameLinks(before.node, node) {
		s.picker = before.picker
	} else {
		graph, _ := topology.New(node) // the reader has said its warnings
		s.picker = alloc.New(graph)
	}
	return s
}

// Devices returns the devices.
func (s *Snapshot) Devices() []inventory.Device { return s.devices }

// Node returns the node.
func (s *Snapshot) Node() gpu.Node { return s.node }

// sameLinks reports whether the picker of one node serves the other.
func sameLinks(a, b gpu.Node) bool {
	return slices.Equal(a.Links, b.Links) && slices.EqualFunc(a.GPUs, b.GPUs, func(x, y gpu.GPU) bool {
		return x.BDF == y.BDF && x.NUMA == y.NUMA && x.PCIeRoot == y.PCIeRoot && slices.Equal(x.PCIePath, y.PCIePath) &&
			(x.PCIeSwitch == nil) == (y.PCIeSwitch == nil) && (x.PCIeSwitch == nil || *x.PCIeSwitch == *y.PCIeSwitch)
	})
}

// known returns the devices with these ids, in the order of the Snapshot, and the ids that no
// device has, sorted. An id that is there twice counts once.
func (s *Snapshot) known(ids []string) (devices []inventory.Device, unknown []string) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if at, ok := s.at[id]; ok {
			devices = append(devices, s.devices[at])
		} else {
			unknown = append(unknown, id)
		}
	}
	slices.SortFunc(devices, func(a, b inventory.Device) int { return cmp.Compare(s.at[a.ID], s.at[b.ID]) })
	return devices, unknown
}

// isOutside reports whether a container outside Kubernetes uses the GPU of a device.
func (s *Snapshot) isOutside(d inventory.Device) bool {
	if d.GPU < 0 || d.GPU >= len(s.node.GPUs) {
		return false
	}
	return slices.Contains(s.Outside, s.node.GPUs[d.GPU].BDF)
}

// GPUs returns the GPUs of the known ones of ids, ascending, each once.
func (s *Snapshot) GPUs(ids []string) (gpus []gpu.BDF) {
	devices, _ := s.known(ids)
	for _, d := range devices {
		if d.GPU >= 0 && d.GPU < len(s.node.GPUs) {
			gpus = append(gpus, s.node.GPUs[d.GPU].BDF)
		}
	}
	return usage.Sorted(gpus)
}

func idsOf(devices []inventory.Device) []string {
	ids := make([]string, len(devices))
	for i, d := range devices {
		ids[i] = d.ID
	}
	return ids
}

// isOf reports whether a device is of one of the GPUs.
func isOf(d inventory.Device, gpus []gpu.UUID) bool {
	return slices.ContainsFunc(gpus, func(u gpu.UUID) bool { return strings.EqualFold(string(u), string(d.UUID)) })
}
