// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Given is a pod with the GPUs that its containers were given, whatever it asked for by
// annotation.
type Given struct {
	UID, Namespace, Pod string
	GPUs                []gpu.UUID // in the order of the node, each once; not empty
	Indices             []int      // of the GPUs; none for slices
}

// GivenTo returns the pods that have GPUs by what the kubelet lists, in the order of the
// requests. Slices are left out: the scheduler that chose them has written them to the pod. A
// pod of which the kubelet has not reported is left out also, because the list may still have
// its predecessor of the same name.
func GivenTo(requests []Request, listed []allocations.Listed, devices []inventory.Device) (all []Given) {
	seen := map[string]bool{}
	for _, r := range requests {
		if seen[r.UID] || !r.Admitted || r.Resource == protocol.SliceResource {
			continue
		}
		seen[r.UID] = true
		var ids []string
		for _, l := range listed {
			if l.Namespace == r.Namespace && l.Pod == r.Pod {
				ids = append(ids, l.IDs...)
			}
		}
		g := Given{UID: r.UID, Namespace: r.Namespace, Pod: r.Pod}
		for _, d := range devices {
			if !d.Slice && slices.Contains(ids, d.ID) && !slices.Contains(g.GPUs, d.UUID) {
				g.GPUs, g.Indices = append(g.GPUs, d.UUID), append(g.Indices, d.GPU)
			}
		}
		if len(g.GPUs) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// Holders returns the pods that have GPUs, as GivenTo does, and those with slices of them: by
// the record of what the plugin gave them, if the kubelet lists them also. What is written on
// a pod does not count.
func Holders(requests []Request, state allocations.State, listed []allocations.Listed,
	devices []inventory.Device,
) []Given {
	all := GivenTo(requests, listed, devices)
	parts, seen := state.Slices(), map[string]bool{}
	for _, r := range requests {
		if seen[r.UID] || !r.Admitted || r.Resource != protocol.SliceResource {
			continue
		}
		seen[r.UID] = true
		isListed := slices.ContainsFunc(listed,
			func(l allocations.Listed) bool { return l.Namespace == r.Namespace && l.Pod == r.Pod })
		g := Given{UID: r.UID, Namespace: r.Namespace, Pod: r.Pod}
		for _, h := range parts {
			if isListed && h.Pod.UID == r.UID && !slices.Contains(g.GPUs, h.UUID) {
				g.GPUs = append(g.GPUs, h.UUID)
			}
		}
		if len(g.GPUs) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// Indices returns the indices of the GPUs of devices, ascending, each once. Devices that are
// not known are left out.
func (s *Snapshot) Indices(ids []string) []int {
	var list []int
	known, _ := s.known(ids)
	for _, d := range known {
		if !slices.Contains(list, d.GPU) {
			list = append(list, d.GPU)
		}
	}
	slices.Sort(list)
	return list
}
