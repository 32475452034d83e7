// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// want is a Request on the node, or a container that takes back its GPUs.
type want struct {
	Request
	at     int    // its place among the requests
	gpus   []int  // those named, or those of the named slices; nil for a count
	whole  []int  // those of gpus that are given as a whole
	slices []part // the named slices
	had    *past
}

// past is what a want has from before: it can have it again.
type past struct {
	gpus      []int
	lease     string            // its ID
	labels    map[string]string // those of a service's container
	container string            // its ID, if it is the one that gets the GPUs
	started   string
	leased    bool // the lease is there
}

// newWant finds the GPUs that a request names.
func newWant(node gpu.Node, at int, r Request) (want, error) {
	selection, err := resolveNames(node, r.Request)
	if err != nil {
		return want{}, r.unresolvedError(err)
	}
	w := want{Request: r, at: at, gpus: selection.Explicit}
	for _, ref := range selection.Slices {
		w.gpus = append(w.gpus, ref.GPU)
		w.slices = append(w.slices, part{ref.GPU, node.GPUs[ref.GPU].Slices[ref.Slice].Name()})
	}
	w.gpus = slices.Compact(w.gpus) // slices come in the order of their GPUs
	if r.All {
		w.gpus = node.Healthy()
	}
	if w.slices == nil {
		w.whole = w.gpus
	}
	return w, nil
}

// checkPossible fails for a want that the node could not meet even with all GPUs free.
func (w want) checkPossible(node gpu.Node) error {
	if w.All && len(w.gpus) == 0 {
		return noUsableGPU(node)
	}
	if err := w.slicesApart(node); err != nil {
		return err
	}
	for _, s := range w.slices {
		if len(sliceOf(node, s).Nodes) == 0 {
			return fmt.Errorf("slice %s of GPU %d has no device nodes, so it cannot be used (metax-ctk sgpu list)", s.name,
				s.gpu)
		}
	}
	for _, g := range w.whole {
		if err := checkGivable(node, node.GPUs[g]); err != nil {
			return err
		}
	}
	return nil
}

// slicesApart fails for slices of several GPUs in one container. A virtual function is a GPU
// of its own.
func (w want) slicesApart(node gpu.Node) error {
	var of []int
	for _, s := range w.slices {
		if sliceOf(node, s).Kind == gpu.SliceSGPU && !slices.Contains(of, s.gpu) {
			of = append(of, s.gpu)
		}
	}
	if len(of) > 1 {
		return w.wrapError(fmt.Errorf(
			"slices of GPUs %s in one container: MetaX supports slices of one GPU only (metax-ctk sgpu list)",
			wording.Ranges(of)))
	}
	return nil
}

// requestAmong returns the want as a request for some of the GPUs.
func (w want) requestAmong(free []int) alloc.Request {
	return alloc.Request{
		N: w.Count, Free: free, Policy: w.Policy, Scope: w.Scope, Sizes: w.Sizes,
		SizesOrigin: w.SizesOrigin,
	}
}

// jointWant returns the want as one of several that are met together.
func (w want) jointWant() alloc.Want {
	return alloc.Want{N: w.Count, Policy: w.Policy, Scope: w.Scope, Sizes: w.Sizes, SizesOrigin: w.SizesOrigin}
}

// onlyCounts reports whether any GPUs do for the want: it neither names some nor takes back
// those that it had.
func (w want) onlyCounts() bool { return w.Count != 0 && w.had == nil }

// namedGPUs are the GPUs that the want waits for, nil for any. A container that starts again
// waits for those that it has as a whole.
func (w want) namedGPUs() []int {
	if w.had != nil {
		return w.whole
	}
	return w.gpus
}

func (w want) sliceNames() (names []string) {
	for _, s := range w.slices {
		names = append(names, s.name)
	}
	return names
}

// part is a slice of a GPU of the node.
type part struct {
	gpu  int // its index, -1 if the node does not have it
	name string
}

func sliceOf(node gpu.Node, p part) gpu.Slice {
	of := node.GPUs[p.gpu].Slices
	return of[slices.IndexFunc(of, func(s gpu.Slice) bool { return s.Name() == p.name })]
}

// parentGPU is the index of the GPU that a slice is a part of.
func parentGPU(node gpu.Node, name string) int {
	return slices.IndexFunc(node.GPUs, func(g gpu.GPU) bool {
		return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Name() == name })
	})
}

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
	case usage.Created, usage.Removing, usage.Exited, usage.Dead: // no process uses them
	}
	return false
}
