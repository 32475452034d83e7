// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// Change returns what has to be done before a Grant can be given: slices that no pod has leave
// its GPUs, and its slices are made, except those that an init container of the pod has
// already. A GPU that is given whole leaves slice mode.
func (s *Snapshot) Change(g Grant, state allocations.State, listed []allocations.Listed) (c reader.Change) {
	bdf := map[gpu.UUID]gpu.BDF{}
	for _, n := range s.node.GPUs {
		bdf[n.UUID] = n.BDF
	}
	for _, o := range s.Orphans(state, listed) {
		if slices.ContainsFunc(g.Slices, func(p allocations.Slice) bool { return bdf[p.UUID] == o.GPU }) {
			c.Remove = append(c.Remove, reader.Alias{GPU: o.GPU, Alias: o.Alias})
		}
	}
	for _, p := range g.Slices {
		alias := Alias(g.Container.Namespace, g.Container.Pod, p.Slot)
		held := slices.ContainsFunc(state.Slices(),
			func(h allocations.Held) bool { return h.Pod.UID == g.Container.UID && h.Slot == p.Slot })
		switch {
		case held: // as it should be
		case p.Whole():
			c.Remove = append(c.Remove, reader.Alias{GPU: bdf[p.UUID], Alias: alias})
		default:
			c.Make = append(c.Make, mxsml.SliceRequest{
				BDF: bdf[p.UUID], Compute: cmp.Or(p.Compute, 100), MemoryMiB: p.MemoryMiB, QoS: p.QoS, Alias: alias,
			})
		}
	}
	return c
}

// GiveSlices returns what a container gets for a Grant on the node after its Change.
func GiveSlices(n gpu.Node, g Grant, f Form) (Answer, error) {
	var gpus []gpu.GPU
	var parts []gpu.Slice
	var cut []gpu.BDF // the GPUs of the parts
	for _, p := range g.Slices {
		at := slices.IndexFunc(n.GPUs, func(g gpu.GPU) bool { return g.UUID == p.UUID })
		if at < 0 {
			return Answer{}, fmt.Errorf("GPU %s is not on this node any more", p.UUID)
		}
		if p.Whole() {
			gpus = append(gpus, n.GPUs[at])
			continue
		}
		alias := Alias(g.Container.Namespace, g.Container.Pod, p.Slot)
		made := slices.IndexFunc(n.GPUs[at].Slices,
			func(s gpu.Slice) bool { return s.Kind == gpu.SliceSGPU && s.Alias == alias })
		if made < 0 {
			return Answer{}, fmt.Errorf("GPU %s does not show the slice %s", p.UUID, alias)
		}
		parts, cut = append(parts, n.GPUs[at].Slices[made]), append(cut, n.GPUs[at].BDF)
	}
	answer, err := f.give(n, gpus, parts)
	if err == nil && len(parts) > 0 {
		answer.Env[protocol.SlicesVariable] = protocol.SlicesValue(cut, parts)
	}
	return answer, err
}

// SliceFiles returns which devices of the kubelet the slices of pods belong to, by the UUIDs
// of the slices, and of GPUs that a pod has whole.
func (s *Snapshot) SliceFiles(state allocations.State) map[string]protocol.SliceFile {
	files := map[string]protocol.SliceFile{}
	for _, e := range state.Entries {
		for i, p := range e.Slices {
			if e.For == nil || i >= len(e.IDs) {
				continue
			}
			f := protocol.SliceFile{
				ID: e.IDs[i], Compute: p.Compute, MemoryMiB: p.MemoryMiB,
				Alias: Alias(e.For.Namespace, e.For.Pod, p.Slot),
			}
			if p.Whole() {
				files[string(p.UUID)] = f
				continue
			}
			for _, g := range s.node.GPUs {
				for _, made := range g.Slices {
					if g.UUID == p.UUID && made.Kind == gpu.SliceSGPU && made.Alias == f.Alias && made.UUID != "" {
						files[made.UUID] = f
					}
				}
			}
		}
	}
	return files
}
