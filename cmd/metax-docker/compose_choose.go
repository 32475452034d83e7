package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/compose"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// want is a service that is to get GPUs.
type want struct {
	service   string
	selection request.Selection
	policy    alloc.Policy
	share     bool
	lease     usage.Lease
	// before are the GPUs of the container that it had, if they are what it asks
	// for: with these and its labels the container can stay.
	before  []int
	labels  map[string]string
	started string
}

// settled is a service with its GPUs. Labels are those of the container that it
// has, nil for one that gets its own under lease.
type settled struct {
	service   string
	gpus      []int
	lease     usage.Lease
	labels    map[string]string
	container string
	leased    bool // the lease that the labels name is there
}

// displacedError reports a service whose stopped container cannot have its GPUs
// back.
type displacedError struct{ want int }

func (e *displacedError) Error() string { return "the GPUs of a stopped container are in use" }

// composer chooses the GPUs of a project's services together.
type composer struct {
	node     gpu.Node
	picker   *alloc.Picker
	explain  bool
	living   []settled // services that have their GPUs
	wants    []want
	replaced []string // containers that the wants are in the place of
	// What the last choice came to.
	settled     []settled
	warnings    []string
	explanation string
}

func (w *wrapper) newComposer(p *project, node gpu.Node, starting []string, state lease.State) (*composer, error) {
	graph, warnings := topology.New(node)
	c := &composer{node: node, picker: alloc.New(graph), explain: p.cmd.Options.Explain}
	for _, service := range p.asking() {
		r := p.requests[service]
		selection, err := r.Resolve(node.GPUs)
		if err != nil {
			return nil, fmt.Errorf("service %q: %w", service, err)
		}
		policy, err := w.policy(r.Policy)
		if err != nil {
			return nil, fmt.Errorf("service %q: %w", service, err)
		}
		wanted := want{service: service, selection: selection, policy: policy, share: r.Share || p.cmd.Options.Share}
		container, there := p.resident(service)
		if there && p.cmd.Verb == "run" && service == p.cmd.Words[0] {
			there = false // a run makes one container more, whatever the service has
		}
		if there {
			has := indices(node, container.container.GPUs)
			labels, leased := container.lease(state)
			switch {
			case labels == nil || !c.suits(selection, has):
			case container.lives():
				c.living = append(c.living, settled{
					service: service, gpus: has, labels: labels, container: container.id, leased: leased,
				})
				continue
			default:
				wanted.before, wanted.labels, wanted.started = has, labels, container.container.Started
			}
		}
		if !slices.Contains(starting, service) {
			continue
		}
		c.wants = append(c.wants, wanted)
		if there {
			c.replaced = append(c.replaced, container.id)
		}
	}
	if slices.ContainsFunc(c.wants, func(w want) bool { return w.selection.Count > 0 }) {
		c.warnings = append(slices.Clone(node.Warnings), warnings...)
	}
	return c, nil
}

// lease returns the labels of the container's lease, nil where it has none or
// names that of another, and whether the lease is there.
func (r resident) lease(state lease.State) (labels map[string]string, leased bool) {
	id, gpus := r.labels[usage.LeaseLabel], r.labels[usage.GPUsLabel]
	if !usage.ValidID(id) || gpus == "" {
		return nil, false
	}
	l := state.Lease(id)
	mine := l != nil && l.Container == "" && l.User != nil && l.User.UID == assign.Me().UID
	if l != nil && l.Container != r.id && !mine {
		return nil, false
	}
	return map[string]string{usage.LeaseLabel: id, usage.GPUsLabel: gpus}, l != nil
}

// suits reports whether these GPUs are what is requested.
func (c *composer) suits(s request.Selection, gpus []int) bool {
	switch {
	case len(gpus) == 0:
		return false
	case s.All:
		return slices.Equal(gpus, c.node.Healthy())
	case s.Count > 0:
		return len(gpus) == s.Count
	}
	return slices.Equal(gpus, slices.Sorted(slices.Values(s.Explicit)))
}

// size is how many GPUs a service wants.
func (c *composer) size(w want) int {
	if w.selection.All {
		return len(c.node.Healthy())
	}
	return max(w.selection.Count, len(w.selection.Explicit))
}

// choose settles all services, and returns the GPUs of the wants in their order:
// first those named, then those that a stopped container had and that are still
// free, then so many of the rest, together.
func (c *composer) choose(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error) {
	chosen := make([][]int, len(c.wants))
	taken := map[int]string{} // GPU → service of the project
	for _, s := range c.living {
		for _, g := range s.gpus {
			taken[g] = s.service
		}
	}
	for i, w := range c.wants {
		if w.selection.Count > 0 {
			continue
		}
		gpus := w.selection.Explicit
		if w.selection.All {
			gpus = c.node.Healthy()
		}
		if len(gpus) == 0 {
			return nil, noUsableGPU(c.node)
		}
		if err := c.refuse(w, gpus, taken, holders, reserved); err != nil {
			return nil, err
		}
		chosen[i] = gpus
		for _, g := range gpus {
			taken[g] = w.service
		}
	}
	free, busy := divide(c.node, taken, holders, reserved)
	for i, w := range c.wants {
		if w.selection.Count == 0 || w.before == nil {
			continue
		}
		if slices.ContainsFunc(w.before, func(g int) bool { return !slices.Contains(free, g) }) {
			return nil, &displacedError{i}
		}
		chosen[i] = w.before
		free = slices.DeleteFunc(free, func(g int) bool { return slices.Contains(w.before, g) })
	}
	if err := c.count(chosen, free, busy); err != nil {
		return nil, err
	}
	c.settled = slices.Clone(c.living)
	out := make([][]gpu.BDF, len(chosen))
	for i, w := range c.wants {
		out[i] = bdfs(c.node, chosen[i])
		c.settled = append(c.settled, settled{service: w.service, gpus: chosen[i], lease: w.lease, labels: w.labels})
	}
	return out, nil
}

// refuse says why a service cannot have the GPUs that it names.
func (c *composer) refuse(w want, gpus []int, taken map[int]string, holders []usage.Holder, reserved []gpu.BDF) error {
	if w.share {
		return nil
	}
	for _, g := range gpus {
		if other, ok := taken[g]; ok {
			return fmt.Errorf("services %q and %q both request GPU %d. To give it to both: --gpus-share", other, w.service, g)
		}
		err := refusal(c.node.GPUs[g], holders, reserved)
		var held *lease.HeldError
		switch {
		case errors.As(err, &held) && w.selection.All:
			free, busy := divide(c.node, taken, holders, reserved)
			return fmt.Errorf("service %q: %w", w.service, &lease.FullError{Want: len(gpus), Free: len(free), Held: len(busy), Of: len(gpus)})
		case held != nil:
			return fmt.Errorf("service %q: %w", w.service, err)
		case err != nil:
			return err
		}
	}
	return nil
}

// count finds GPUs for the services that only count them. Those that share come
// last, and take what others have only where too few are free.
func (c *composer) count(chosen [][]int, free, busy []int) error {
	var counts []compose.Count
	var places, sharing []int
	total := 0
	for i, w := range c.wants {
		switch {
		case chosen[i] != nil:
		case w.share:
			sharing = append(sharing, i)
		default:
			places = append(places, i)
			counts = append(counts, compose.Count{Service: w.service, N: w.selection.Count, Policy: w.policy})
			total += w.selection.Count
		}
	}
	healthy := c.node.Healthy()
	if total > len(healthy) {
		return fmt.Errorf("%d GPUs requested by %d services, but this node has only %d usable ones (metax-ctk device list)", total, len(counts), len(healthy))
	}
	if total > len(free) {
		return &lease.FullError{Want: total, Free: len(free), Held: len(busy), Of: len(healthy)}
	}
	answers, err := compose.Joint(c.picker, free, counts, c.explain)
	if err != nil {
		return err
	}
	c.explanation = ""
	for i, place := range places {
		chosen[place] = answers[i].GPUs
		free = slices.DeleteFunc(free, func(g int) bool { return slices.Contains(answers[i].GPUs, g) })
		c.tell(c.wants[place].service, answers[i])
	}
	for _, place := range sharing {
		w := c.wants[place]
		from, required := free, []int(nil)
		if w.selection.Count > len(free) {
			from, required = healthy, free
		}
		answer, err := c.picker.Pick(alloc.Request{N: w.selection.Count, Free: from, Required: required, Policy: w.policy, Explain: c.explain})
		if err != nil {
			return fmt.Errorf("service %q: %w", w.service, err)
		}
		chosen[place] = answer.GPUs
		free = slices.DeleteFunc(slices.Clone(free), func(g int) bool { return slices.Contains(answer.GPUs, g) })
		c.tell(w.service, answer)
	}
	return nil
}

// tell adds to what is to be said of the choice.
func (c *composer) tell(service string, answer alloc.Answer) {
	for _, line := range answer.Warnings {
		line = fmt.Sprintf("service %q: %s", service, line)
		if !slices.Contains(c.warnings, line) {
			c.warnings = append(c.warnings, line)
		}
	}
	if answer.Explanation != nil {
		c.explanation += "service " + service + ":\n" + strings.TrimSuffix(answer.Explanation.Text(true), "\n") + "\n"
	}
}
