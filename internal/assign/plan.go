// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Plan is a Job that the node can meet, as far as is known without a look at who uses its
// GPUs. It never changes.
type Plan struct {
	Job
	picker   *alloc.Picker // nil where no request counts
	kept     []want        // whose containers run and keep their GPUs
	wants    []want
	own      []string // the containers that the wants are in the place of
	gone     error    // why the node cannot meet it after all
	warnings []string // whatever is chosen
}

// NewPlan plans how the job can be met. The tables of the picker are made now and not under
// the lock.
func NewPlan(j Job) (*Plan, error) {
	p := &Plan{Job: j}
	for i, r := range p.Requests {
		w, err := newWant(p.Node, i, r)
		if err != nil {
			return nil, err
		}
		if w.had = w.findPast(p.Node, p.State); w.had != nil && r.Had.keepsGPUs() {
			w.had.container = r.Had.ID
			if w.slices == nil {
				w.whole = w.had.gpus
			}
			p.kept = append(p.kept, w)
			continue
		}
		if r.Idle {
			continue
		}
		if w.had == nil {
			if err := w.checkPossible(p.Node); err != nil {
				return nil, err
			}
		}
		p.wants = append(p.wants, w)
		if r.Had != nil {
			p.own = append(p.own, r.Had.ID)
		}
	}
	return p, p.prepare()
}

// prepare makes the picker where a request counts GPUs. What the whole node could not give
// needs no further look.
func (p *Plan) prepare() error {
	healthy := p.Node.Healthy()
	for _, w := range p.wants {
		left := len(p.Node.GPUs) - len(healthy)
		if w.All && w.Service == "" && left > 0 {
			p.warnings = append(p.warnings, fmt.Sprintf(
				"%d of %d GPUs are left out because they are unhealthy or divided into slices (metax-ctk device list)",
				left, len(p.Node.GPUs)))
		}
		if w.Count == 0 {
			for _, l := range p.Node.Lost {
				p.warn(l.String())
			}
			continue
		}
		if p.picker == nil {
			graph, warnings := topology.New(p.Node)
			p.warn(p.Node.Warnings...)
			p.warn(warnings...)
			p.picker = alloc.New(graph)
		}
		if _, err := p.picker.Pick(w.requestAmong(healthy)); err != nil {
			return w.wrapError(tooFew(p.Node, w.Scope, err))
		}
	}
	return checkTogether(healthy, p.picker, p.kept, p.wants)
}

// warn adds warnings, each once.
func (p *Plan) warn(lines ...string) { p.warnings = appendNew(p.warnings, lines...) }

// appendNew appends the lines that are not there yet.
func appendNew(all []string, lines ...string) []string {
	for _, line := range lines {
		if !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return all
}

// namedGPUs are the GPUs that are waited for by name, ascending. Those that are shared
// count where all are.
func (p *Plan) namedGPUs() []gpu.BDF {
	var all []gpu.BDF
	shared := p.allShared()
	for _, w := range p.wants {
		if shared || !w.Share {
			all = append(all, gpuBDFs(p.Node, w.namedGPUs())...)
		}
	}
	return usage.Sorted(all)
}

// allShared reports whether nothing is waited for.
func (p *Plan) allShared() bool {
	return !slices.ContainsFunc(p.wants, func(w want) bool { return !w.Share })
}

// Candidates returns the GPUs of which the plan may give some, ascending, and the slices that
// it gives.
func (p *Plan) Candidates() (gpus []gpu.GPU, parts []gpu.Slice) {
	var all []int
	for _, w := range slices.Concat(p.kept, p.wants) {
		all = append(all, w.whole...)
		if w.Count > 0 {
			all = append(all, p.Node.Healthy()...)
		}
		if w.had != nil && w.slices == nil {
			all = append(all, w.had.gpus...)
		}
		for _, s := range w.slices {
			parts = append(parts, sliceOf(p.Node, s))
		}
	}
	slices.Sort(all)
	for _, i := range slices.Compact(all) {
		gpus = append(gpus, p.Node.GPUs[i])
	}
	return gpus, parts
}

// Empty reports whether the plan takes no lease.
func (p *Plan) Empty() bool {
	return len(p.wants) == 0 && len(p.keptWithoutLease()) == 0
}

// keptWithoutLease are those whose containers run and have no lease any more.
func (p *Plan) keptWithoutLease() []want {
	return slices.DeleteFunc(slices.Clone(p.kept), func(w want) bool { return w.had.leased })
}

// checkTogether fails for services of which each could get its GPUs, but not all of them, even
// if nobody else used any: no wait would help. Services that run keep their GPUs. Requests
// that share GPUs do not count.
func checkTogether(healthy []int, picker *alloc.Picker, kept, wants []want) error {
	var counts []alloc.Want
	var counting []want
	asking, wanted, scoped := 0, 0, false
	named := map[int]bool{}
	for _, w := range kept {
		for _, i := range w.whole {
			named[i] = true
		}
	}
	running := ""
	if len(named) > 0 {
		running = fmt.Sprintf("; running services keep %d", len(named))
	}
	for _, w := range wants {
		if w.Count > 0 && w.Share {
			continue
		}
		asking++
		for _, i := range w.whole {
			named[i] = true
		}
		if w.Count > 0 {
			counts, counting = append(counts, w.jointWant()), append(counting, w)
			wanted, scoped = wanted+w.Count, scoped || w.Scope != key.Any
		}
	}
	left := slices.DeleteFunc(slices.Clone(healthy), func(i int) bool { return named[i] })
	asking += len(kept)
	if asking > 1 && wanted > len(left) {
		return fmt.Errorf("%d GPUs requested by %d services, but this node has only %d usable ones%s (metax-ctk device list)",
			wanted+len(named), asking, len(healthy), running)
	}
	if asking < 2 || !scoped {
		return nil
	}
	_, err := picker.Joint(left, counts, false)
	var one *alloc.WantError
	if errors.As(err, &one) {
		return fmt.Errorf("the services cannot all be served: %w", counting[one.Want].wrapError(one.Err))
	}
	return err
}
