// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// Grant is what a container gets of a pod's slices.
type Grant struct {
	Container allocations.Container
	Slices    []allocations.Slice
}

// Slices decides what the next container of a pod gets, for which the kubelet names count
// devices: the slices that the scheduler chose, if by the State their GPUs have room for them.
// Anyone who may create pods can write the annotations, so they are not trusted.
func (s *Snapshot) Slices(p SlicePod, count int, state allocations.State) (Grant, error) {
	next := p.Next(state)
	if next < 0 {
		return Grant{}, fmt.Errorf("every container of the pod has its slices")
	}
	c := p.Containers[next]
	if c.Count != count {
		return Grant{}, fmt.Errorf("container %s requests %d slices, and the kubelet asks for %d", c.Name, c.Count, count)
	}
	slots, chosen, err := p.slots()
	if err != nil {
		return Grant{}, err
	}
	g := Grant{Container: c.Container}
	for _, slot := range slots[next] {
		part, err := s.slice(p, chosen[slot], slot, g, state)
		if err != nil {
			return Grant{}, err
		}
		g.Slices = append(g.Slices, part)
	}
	return g, nil
}

// slice checks one slice against those of its GPU, also the ones that are in the Grant
// already.
func (s *Snapshot) slice(p SlicePod, chosen foreign.Slice, slot int, g Grant,
	state allocations.State,
) (allocations.Slice, error) {
	at := slices.IndexFunc(s.devices,
		func(d inventory.Device) bool { return d.Slice && d.UUID.Equal(string(chosen.UUID)) })
	if at < 0 {
		return allocations.Slice{}, fmt.Errorf("%s is not a GPU of this node", chosen.UUID)
	}
	d := s.devices[at]
	chosen.UUID, d.ID = d.UUID, string(d.UUID) // messages name the GPU
	switch {
	case !d.Healthy:
		return allocations.Slice{}, fmt.Errorf("%s is unhealthy: %s (%s)", label(d), d.Reason, d.Code)
	case d.GPU < 0 || d.GPU >= len(s.node.GPUs):
		return allocations.Slice{}, fmt.Errorf("%s is not on this node any more", label(d))
	case s.isOutside(d):
		return allocations.Slice{}, fmt.Errorf("%s is in use outside Kubernetes", label(d))
	}
	for _, h := range state.Slices() {
		if h.Pod.UID == g.Container.UID && h.Slot == slot {
			return h.Slice, nil // of an init container, which hands it on
		}
	}
	load := s.load(d, state)
	for _, part := range g.Slices {
		if part.UUID == d.UUID {
			load.add(part)
		}
	}
	if chosen.Whole() {
		if load.count > 0 {
			return allocations.Slice{}, fmt.Errorf("%s is not free: it has %d slices", label(d), load.count)
		}
		return allocations.Slice{Slice: chosen, Slot: slot}, nil
	}
	part := allocations.Slice{Slice: chosen, Slot: slot, QoS: cmp.Or(p.Choice.QoS, load.qos, gpu.QoSBestEffort)}
	part.MemoryMiB -= part.MemoryMiB % mxsml.StepMiB // the driver gives no other sizes, and never more
	memory := s.node.GPUs[d.GPU].MemoryMiB
	switch {
	case load.whole:
		return allocations.Slice{}, fmt.Errorf("%s is not free: a pod has it as a whole", label(d))
	case load.qos != "" && load.qos != part.QoS:
		return allocations.Slice{},
			fmt.Errorf("%s has slices of the class %s; one of %s cannot be added", label(d), load.qos, part.QoS)
	case part.Compute == 0 && !p.Choice.Online:
		return allocations.Slice{},
			fmt.Errorf("a slice of %s has no share of compute; only pods of the class online may have such", label(d))
	case part.MemoryMiB == 0:
		return allocations.Slice{},
			fmt.Errorf("a slice of %s has %d MiB of memory; want at least %d", label(d), chosen.MemoryMiB, mxsml.StepMiB)
	case load.count == gpu.MaxSlices:
		return allocations.Slice{}, fmt.Errorf("%s has %d slices; there can be no more", label(d), load.count)
	case load.compute+part.Compute > 100:
		return allocations.Slice{},
			fmt.Errorf("%s has %d%% of its compute free; a slice of %d%% does not fit", label(d), 100-load.compute, part.Compute)
	case load.memory+part.MemoryMiB > memory:
		return allocations.Slice{}, fmt.Errorf("%s has %d MiB of memory free; a slice of %d MiB does not fit", label(d),
			memory-load.memory, part.MemoryMiB)
	}
	return part, nil
}

// load is what the slices of a GPU take of it.
type load struct {
	count, compute, memory int
	qos                    string // the class of the slices; empty without slices, or if it is not known
	whole                  bool   // a pod has the whole GPU
}

func (l *load) add(s allocations.Slice) {
	l.count++
	l.compute += s.Compute
	l.memory += s.MemoryMiB
	l.whole = l.whole || s.Whole()
	l.qos = cmp.Or(l.qos, s.QoS)
}

// load adds up the slices of pods, by the State, and those of others, by what the driver
// shows.
func (s *Snapshot) load(d inventory.Device, state allocations.State) (l load) {
	for _, h := range state.Slices() {
		if h.UUID == d.UUID {
			l.add(h.Slice)
		}
	}
	for _, part := range s.node.GPUs[d.GPU].Slices {
		if part.Kind == gpu.SliceSGPU && !IsOwn(part) {
			l.add(
				allocations.Slice{Slice: foreign.Slice{Compute: part.ComputePercent, MemoryMiB: part.MemoryMiB}, QoS: part.QoS})
		}
	}
	return l
}

// ownAlias begins the alias of a slice that was made for a pod.
const ownAlias = "k8s-"

// Alias is the alias of a slice. It depends on what the kubelet lists of a container, so that
// the slices of running pods are known also without a record.
func Alias(namespace, pod string, slot int) string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", namespace, pod, slot))
	return ownAlias + hex.EncodeToString(digest[:8])
}

// IsOwn reports whether a slice was made for a pod.
func IsOwn(s gpu.Slice) bool { return IsOwnAlias(s.Alias) }

// IsOwnAlias reports whether a slice with the alias was made for a pod.
func IsOwnAlias(alias string) bool { return own.MatchString(alias) }

var own = regexp.MustCompile(`^` + ownAlias + `[0-9a-f]{16}$`)

// maxSlots bounds the slots of a pod of which only the name is known.
const maxSlots = 128

// Orphan is a slice that was made for a pod which has ended.
type Orphan struct {
	GPU gpu.BDF
	gpu.Slice
}

// Orphans returns the slices that no pod has any more, by the State and what the kubelet
// lists.
func (s *Snapshot) Orphans(state allocations.State, listed []allocations.Listed) (orphans []Orphan) {
	used := map[string]bool{}
	for _, h := range state.Slices() {
		used[Alias(h.Pod.Namespace, h.Pod.Pod, h.Slot)] = true
	}
	for _, l := range listed {
		if slices.ContainsFunc(l.IDs, func(id string) bool { return inventory.Serves(protocol.ModeSGPU, id) }) {
			for slot := range maxSlots {
				used[Alias(l.Namespace, l.Pod, slot)] = true
			}
		}
	}
	for _, g := range s.node.GPUs {
		for _, part := range g.Slices {
			if part.Kind == gpu.SliceSGPU && IsOwn(part) && !used[part.Alias] {
				orphans = append(orphans, Orphan{g.BDF, part})
			}
		}
	}
	return orphans
}

// Registration returns what schedulers are told of the GPUs in ModeSGPU.
func (s *Snapshot) Registration(state allocations.State) (list []foreign.Registered) {
	seen := map[gpu.UUID]bool{}
	for _, d := range s.devices {
		if !d.Slice || seen[d.UUID] || d.GPU < 0 || d.GPU >= len(s.node.GPUs) {
			continue
		}
		seen[d.UUID] = true
		g, l := s.node.GPUs[d.GPU], s.load(d, state)
		r := foreign.Registered{
			UUID: d.UUID, BDF: g.BDF.String(), Model: g.Model, NUMA: max(g.NUMA, 0), QoS: l.qos, Domain: g.LinkDomain,
			Healthy:      d.Healthy && !s.isOutside(d),
			TotalDevices: gpu.MaxSlices, TotalCompute: 100, TotalMemory: g.MemoryMiB,
			AvailableDevices: max(0, gpu.MaxSlices-l.count), AvailableCompute: max(0, 100-l.compute),
			AvailableMemory: max(0, g.MemoryMiB-l.memory),
		}
		if l.whole {
			r.AvailableDevices = 0
		}
		list = append(list, r)
	}
	return list
}
