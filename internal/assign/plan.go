package assign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Job is what a command wants: all of its requests are met, or none is.
type Job struct {
	Node     gpu.Node
	Requests []Request
	// Verb is that of the leases.
	Verb string
	// State has the leases that requests with Had may name.
	State   lease.State
	Explain bool
}

// Plan is a Job that the node can meet, as far as is known without a look at who
// uses its GPUs.
type Plan struct {
	Job
	picker *alloc.Picker // nil where no request counts
	kept   []want        // whose containers run and keep their GPUs
	wants  []want
	own    []string // the containers that the wants are in the place of
	// patient reports whether a lease that is about to expire is waited for; nil is never.
	patient func() bool
	gone    error // why the node cannot meet it after all
	// What there is to say: in any case, and of the last choice.
	warnings, notes []string
	explanation     string
	// What the last choice was made from.
	holders []usage.Holder
	free    []int
}

// Given is what a request got.
type Given struct {
	GPUs   []gpu.GPU // ascending; also those that Slices are parts of
	Slices []gpu.Slice
	Labels map[string]string // that tie the container to its lease; nil without a lease
}

// Result is what a Plan came to.
type Result struct {
	Given       []Given       // in the order of the requests; without GPUs for one that got none
	Warnings    []string      // of the choice first, then of the node
	Explanation string        // lines, if they were requested
	Leases      []usage.Lease // of those that have no container yet
}

// NewPlan plans how the job can be met. The tables of the picker are made now and
// not under the lock.
func NewPlan(j Job) (*Plan, error) {
	p := &Plan{Job: j}
	for i, r := range p.Requests {
		w, err := newWant(p.Node, i, r)
		if err != nil {
			return nil, err
		}
		if w.had = w.past(p.Node, p.State); w.had != nil && r.Had.lives() {
			w.chosen, w.had.container = w.had.gpus, r.Had.ID
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
			if err := w.possible(p.Node); err != nil {
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
			p.warnings = append(p.warnings, fmt.Sprintf("%d of %d GPUs are left out because they are unhealthy or divided into slices (metax-ctk device list)", left, len(p.Node.GPUs)))
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
		if _, err := p.picker.Pick(w.among(healthy)); err != nil {
			return w.wrap(tooFew(p.Node, w.Scope, err))
		}
	}
	return p.together(healthy)
}

// warn adds warnings, each once.
func (p *Plan) warn(lines ...string) {
	for _, line := range lines {
		if !slices.Contains(p.warnings, line) {
			p.warnings = append(p.warnings, line)
		}
	}
}

// together fails for services of which each could get its GPUs, but not all of them, even
// if nobody else used any: no wait would help. Services that run keep their GPUs. Requests
// that share GPUs do not count.
func (p *Plan) together(healthy []int) error {
	var counts []alloc.Want
	var counting []want
	asking, wanted, scoped := 0, 0, false
	named := map[int]bool{}
	for _, w := range p.kept {
		for _, i := range w.whole {
			named[i] = true
		}
	}
	kept := len(named)
	for _, w := range p.wants {
		if w.Count > 0 && w.Share {
			continue
		}
		asking++
		for _, i := range w.whole {
			named[i] = true
		}
		if w.Count > 0 {
			counts, counting = append(counts, w.joint()), append(counting, w)
			wanted, scoped = wanted+w.Count, scoped || w.Scope != key.Any
		}
	}
	left := slices.DeleteFunc(slices.Clone(healthy), func(i int) bool { return named[i] })
	asking += len(p.kept)
	if asking > 1 && wanted > len(left) {
		running := ""
		if kept > 0 {
			running = fmt.Sprintf("; running services keep %d", kept)
		}
		return fmt.Errorf("%d GPUs requested by %d services, but this node has only %d usable ones%s (metax-ctk device list)", wanted+len(named), asking, len(healthy), running)
	}
	if asking < 2 || !scoped {
		return nil
	}
	_, err := p.picker.Joint(left, counts, false)
	var one *alloc.WantError
	if errors.As(err, &one) {
		return fmt.Errorf("the services cannot all be served: %w", counting[one.Want].wrap(one.Err))
	}
	return err
}

// named are the GPUs that are waited for by name, ascending. Those that are shared
// count where all are.
func (p *Plan) named() []gpu.BDF {
	var all []gpu.BDF
	shared := p.shared()
	for _, w := range p.wants {
		if shared || !w.Share {
			all = append(all, bdfs(p.Node, w.named())...)
		}
	}
	return usage.Sorted(all)
}

// shared reports whether nothing is waited for.
func (p *Plan) shared() bool {
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
	return len(p.wants) == 0 && !slices.ContainsFunc(p.kept, func(w want) bool { return !w.had.leased })
}

// retryDisplaced chooses by try until no service is displaced: one whose stopped container
// cannot have its GPUs back gets others.
func (p *Plan) retryDisplaced(try func() error) error {
	for {
		err := p.gone
		if err == nil {
			err = try()
		}
		var displaced *displacedError
		if !errors.As(err, &displaced) {
			return err
		}
		p.wants[displaced.want].had = nil
	}
}

// Preview returns what the plan would come to now; no lease is taken.
func (p *Plan) Preview(r lease.Report) (Result, error) {
	if err := p.retryDisplaced(func() error { return p.choose(r.HoldersOf(p.named()), nil) }); err != nil {
		return Result{}, err
	}
	return p.result(nil), nil
}

// result is what the last choice came to, under these leases.
func (p *Plan) result(leases []usage.Lease) Result {
	p.noteLinks()
	r := Result{
		Given: make([]Given, len(p.Requests)), Leases: leases,
		Warnings: slices.Concat(p.notes, p.warnings), Explanation: p.explanation,
	}
	for _, w := range slices.Concat(p.kept, p.wants) {
		given := &r.Given[w.at]
		for _, i := range w.chosen {
			given.GPUs = append(given.GPUs, p.Node.GPUs[i])
		}
		if p.Verb != usage.VerbStart { // which gives nothing new
			for _, s := range w.slices {
				given.Slices = append(given.Slices, sliceOf(p.Node, s))
			}
		}
		if w.had != nil {
			given.Labels = w.had.labels
			continue
		}
		if w.lease.ID != "" {
			given.Labels = labels(w.lease, given.GPUs)
		}
	}
	return r
}
