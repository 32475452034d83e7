package assign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Request is what one container is to get.
type Request struct {
	request.Request
	// Service is the container's service in its project. It stands in messages, and is
	// empty for the only container of a command line.
	Service string
	Policy  key.Policy
	Scope   key.Scope
	Sizes   alloc.SizeRule
	// SizesOrigin is the setting that Sizes is from, for messages.
	SizesOrigin string
	Share       bool // also GPUs that are in use
	// Had is the container that the service has; nil for none.
	Had *Had
	// Idle is true where the command makes no container: the request keeps the GPUs of a
	// container that runs, and otherwise gets none.
	Idle bool
}

// Had is the container that a service has.
type Had struct {
	usage.Container
	Labels map[string]string
}

// part is a slice of a GPU of the node.
type part struct {
	gpu  int // its index, -1 if the node does not have it
	name string
}

// want is a Request on the node, or a container that takes back its GPUs.
type want struct {
	Request
	at     int    // its place among the requests
	gpus   []int  // those named, or those of the named slices; nil for a count
	whole  []int  // those of gpus that are given as a whole
	slices []part // the named slices
	had    *past
	// What the last choice came to, and the lease that it is taken under.
	chosen []int
	class  topology.Kind // of those that were picked for a count
	lease  usage.Lease
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
	selection, err := resolve(node, r.Request)
	if err != nil {
		return want{}, r.unresolved(err)
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

// resolve finds what a request names on a node. A GPU that was there earlier is said to be lost.
func resolve(node gpu.Node, r request.Request) (request.Selection, error) {
	selection, err := r.Resolve(node.GPUs)
	var unknown *request.UnknownError
	if errors.As(err, &unknown) {
		for _, l := range node.Lost {
			named := request.Request{IDs: []string{unknown.ID}}
			if _, err := named.Resolve([]gpu.GPU{{Index: l.Index, BDF: l.BDF, UUID: l.UUID}}); err == nil {
				return selection, fmt.Errorf("%q: %s", unknown.ID, l)
			}
		}
	}
	return selection, err
}

// possible fails for a want that the node could not meet even with all GPUs free.
func (w want) possible(node gpu.Node) error {
	if w.All && len(w.gpus) == 0 {
		return noUsableGPU(node)
	}
	if err := w.slicesApart(node); err != nil {
		return err
	}
	for _, s := range w.slices {
		if len(sliceOf(node, s).Nodes) == 0 {
			return fmt.Errorf("slice %s of GPU %d has no device nodes, so it cannot be used (metax-ctk sgpu list)", s.name, s.gpu)
		}
	}
	for _, g := range w.whole {
		if err := givable(node, node.GPUs[g]); err != nil {
			return err
		}
	}
	return nil
}

func sliceOf(node gpu.Node, p part) gpu.Slice {
	of := node.GPUs[p.gpu].Slices
	return of[slices.IndexFunc(of, func(s gpu.Slice) bool { return s.Name() == p.name })]
}

// among returns the want as a request for some of the GPUs.
func (w want) among(free []int) alloc.Request {
	return alloc.Request{N: w.Count, Free: free, Policy: w.Policy, Scope: w.Scope, Sizes: w.Sizes, SizesOrigin: w.SizesOrigin}
}

// joint returns the want as one of several that are met together.
func (w want) joint() alloc.Want {
	return alloc.Want{N: w.Count, Policy: w.Policy, Scope: w.Scope, Sizes: w.Sizes, SizesOrigin: w.SizesOrigin}
}

// named are the GPUs that the want waits for, nil for any. A container that starts again
// waits for those that it has as a whole.
func (w want) named() []int {
	if w.had != nil {
		return w.whole
	}
	return w.gpus
}

// unresolved is the error for a request that names what the node does not have.
func (r Request) unresolved(err error) error {
	var unknown *request.UnknownError
	switch {
	case r.Service != "":
		return r.wrap(err)
	case errors.As(err, &unknown) && unknown.Range != "":
		return err
	case errors.As(err, &unknown):
		return fmt.Errorf("%q is not a GPU: use a count (2), all, or IDs (0,2); this node has %s", unknown.ID, unknown.GPUs)
	}
	return fmt.Errorf("--gpus: %w", err)
}

// prefix names the service in front of a message.
func (r Request) prefix() string {
	if r.Service == "" {
		return ""
	}
	return fmt.Sprintf("service %q: ", r.Service)
}

func (r Request) wrap(err error) error { return fmt.Errorf("%s%w", r.prefix(), err) }

// past returns what the service's container has, if that is what the request wants
// and no lease of another says otherwise; else nil.
func (w want) past(node gpu.Node, state lease.State) *past {
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
		gpus: indices(node, w.Had.GPUs), lease: id, started: w.Had.Started, leased: l != nil,
		labels: ownLabels(w.Had.Labels),
	}
	var parts []string
	for _, s := range w.slices {
		parts = append(parts, s.name)
	}
	slices.Sort(parts)
	if !slices.Equal(parts, w.Had.Slices) {
		return nil
	}
	if len(p.gpus) == 0 || (w.Count > 0 && len(p.gpus) != w.Count) || (w.Count == 0 && !slices.Equal(p.gpus, slices.Sorted(slices.Values(w.gpus)))) {
		return nil
	}
	return p
}

// ownLabels are those of the labels that only this toolkit gives: compose makes a container anew
// if one of them is added or changes.
func ownLabels(all map[string]string) map[string]string {
	own := map[string]string{}
	for _, key := range OwnLabels {
		if value, ok := all[key]; ok {
			own[key] = value
		}
	}
	return own
}

// lives reports whether the container has its GPUs now.
func (h Had) lives() bool {
	switch h.State {
	case usage.Running, usage.Paused, usage.Restarting:
		return true
	}
	return false
}

// indices are the GPUs as the node numbers them, ascending; nil if it lacks one.
func indices(node gpu.Node, bdfs []gpu.BDF) []int {
	var out []int
	for _, bdf := range bdfs {
		g, ok := node.Lookup(bdf)
		if !ok {
			return nil
		}
		out = append(out, g.Index)
	}
	slices.Sort(out)
	return out
}

func bdfs(node gpu.Node, indices []int) []gpu.BDF {
	out := make([]gpu.BDF, len(indices))
	for i, index := range indices {
		out[i] = node.GPUs[index].BDF
	}
	return out
}
