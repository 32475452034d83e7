package assign

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// findPast returns what the service's container has, if that is what the request wants
// and no lease of another says otherwise; else nil.
func (w want) findPast(node gpu.Node, state lease.State) *past {
	if w.Had == nil {
		return nil
	}
	id := w.Had.Labels[usage.LeaseLabel]
	if !usage.ValidID(id) || w.Had.Labels[usage.GPUsLabel] == "" || w.Had.CheckGiven(node) != nil {
		return nil
	}
	l := state.Lease(id)
	mine := l != nil && l.Container == "" && l.User != nil && l.User.UID == Me().UID
	if l != nil && l.Container != w.Had.ID && !mine {
		return nil
	}
	p := &past{
		gpus: gpuIndices(node, w.Had.GPUs), lease: id, started: w.Had.Started, leased: l != nil,
		labels: ownLabels(w.Had.Labels),
	}
	parts := w.sliceNames()
	slices.Sort(parts)
	if !slices.Equal(parts, w.Had.Slices) {
		return nil
	}
	same := slices.Equal(p.gpus, slices.Sorted(slices.Values(w.gpus)))
	if w.Count > 0 {
		same = len(p.gpus) == w.Count
	}
	if len(p.gpus) == 0 || !same {
		return nil
	}
	return p
}

// keepsGPUs reports whether the container has its GPUs now.
func (h Had) keepsGPUs() bool {
	switch h.State {
	case usage.Running, usage.Paused, usage.Restarting:
		return true
	}
	return false
}
