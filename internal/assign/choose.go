package assign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// displacedError reports a service whose stopped container cannot have its GPUs back.
type displacedError struct{ want int }

func (e *displacedError) Error() string { return "the GPUs of a stopped container are in use" }

// choose chooses the GPUs of all wants, given who uses which: first those named, then
// those that a stopped container had and that are still free, then so many of the
// rest, together. Reserved GPUs are for requests that came earlier.
func (p *Plan) choose(holders []usage.Holder, reserved []gpu.BDF) error {
	p.notes, p.explanation, p.holders = nil, "", holders
	taken := map[int]string{} // GPU → service of the project
	if err := p.slicesOnce(); err != nil {
		return err
	}
	for _, w := range p.kept {
		w.enter(taken)
	}
	for i := range p.wants {
		w := &p.wants[i]
		w.chosen = w.gpus
		if w.Count > 0 {
			continue
		}
		if err := p.refuse(*w, taken, holders, reserved); err != nil {
			return err
		}
		w.enter(taken)
	}
	free, inUse := divide(p.Node, taken, holders, reserved)
	for i := range p.wants {
		w := &p.wants[i]
		if w.Count == 0 || w.had == nil {
			continue
		}
		if len(Without(w.had.gpus, free)) > 0 {
			return &displacedError{i}
		}
		w.chosen = w.had.gpus
		free = Without(free, w.chosen)
	}
	p.free = free
	if err := p.count(free, inUse); err != nil {
		return err
	}
	return p.check()
}

// slicesOnce fails for services that request the same slice.
func (p *Plan) slicesOnce() error {
	by := map[string]want{}
	for _, w := range slices.Concat(p.kept, p.wants) {
		for _, s := range w.slices {
			if other, ok := by[s.name]; ok && !w.Share && !other.Share && w.Service != "" {
				return fmt.Errorf("services %q and %q both request slice %s. To give it to both: --gpus-share", other.Service, w.Service, s.name)
			}
			by[s.name] = w
		}
	}
	return nil
}

// enter notes who has the GPUs of the want.
func (w want) enter(taken map[int]string) {
	for _, g := range w.whole {
		taken[g] = w.Service
	}
}

// refuse says why a want cannot have the GPUs and slices that it names.
func (p *Plan) refuse(w want, taken map[int]string, holders []usage.Holder, reserved []gpu.BDF) error {
	if w.Share {
		return nil
	}
	for _, s := range w.slices {
		var of gpu.BDF
		if s.gpu >= 0 {
			of = p.Node.GPUs[s.gpu].BDF
		}
		if held := usage.HeldSlice(holders, of, s.name); held != nil {
			return &lease.HeldError{GPU: s.gpu, Slice: s.name, Holder: *held}
		}
	}
	for _, g := range w.whole {
		if other, ok := taken[g]; ok {
			return fmt.Errorf("services %q and %q both request GPU %d. To give it to both: --gpus-share", other, w.Service, g)
		}
		err := refusal(p.Node.GPUs[g], holders, reserved)
		var held *lease.HeldError
		switch {
		case err != nil && w.All:
			free, _ := divide(p.Node, taken, holders, reserved)
			err = full(p.Node, len(w.whole), free)
			if w.Service == "" {
				err = allInUse(err, free)
			}
			return w.wrap(err)
		case errors.As(err, &held):
			return w.wrap(err)
		case err != nil:
			return err
		}
	}
	return nil
}

// count finds GPUs for the wants that only count them. Those that share come last,
// and take what others use only where too few are free.
func (p *Plan) count(free, inUse []int) error {
	var counts []alloc.Want
	var places, sharing []int
	total := 0
	for i, w := range p.wants {
		switch {
		case w.chosen != nil: // it has its GPUs
		case w.Share:
			sharing = append(sharing, i)
		default:
			places = append(places, i)
			counts = append(counts, w.joint())
			total += w.Count
		}
	}
	healthy := p.Node.Healthy()
	switch {
	case total > len(free):
		return full(p.Node, total, free)
	case len(counts) > 0:
		joint, err := p.picker.Joint(free, counts, p.Explain)
		var one *alloc.WantError
		if errors.As(err, &one) {
			return p.wants[places[one.Want]].wrap(unmetNow(one.Err))
		} else if err != nil {
			return err
		}
		if p.betterSoon(free, inUse, counts, joint) {
			return errSoon
		}
		for i, place := range places {
			free = Without(free, p.give(place, joint.Answers[i], inUse))
		}
	}
	for _, place := range sharing {
		w := p.wants[place]
		ask := w.among(free)
		ask.Explain = p.Explain
		if w.Count > len(free) {
			ask.Free, ask.Required = healthy, free
		}
		answer, err := p.picker.Pick(ask)
		if errors.Is(err, alloc.ErrUnmet) { // the free ones may lie too far apart
			ask.Free, ask.Required = healthy, nil
			answer, err = p.picker.Pick(ask)
		}
		if err != nil {
			return w.wrap(err)
		}
		free = Without(free, p.give(place, answer, inUse))
	}
	return nil
}

// errSoon reports that better-linked GPUs are about to come free.
var errSoon = fmt.Errorf("better-linked GPUs come free in %s: %w", lease.Grace, lease.ErrBusy)

// betterSoon reports whether the wants would get better-linked GPUs if the leases that are about
// to expire were over: those of a start that failed a moment ago, which is often repeated.
func (p *Plan) betterSoon(free, inUse []int, counts []alloc.Want, now alloc.Joint) bool {
	if p.patient == nil || !p.patient() {
		return false
	}
	soon := slices.Clone(free)
	for _, i := range inUse {
		held := usage.Held(p.holders, p.Node.GPUs[i].BDF)
		if len(held) > 0 && !slices.ContainsFunc(held, func(h usage.Holder) bool { return h.State() != "expiring" }) {
			soon = append(soon, i)
		}
	}
	if len(soon) == len(free) {
		return false
	}
	slices.Sort(soon)
	then, err := p.picker.Joint(soon, counts, false)
	if err != nil {
		return false
	}
	better := false
	for i, answer := range then.Answers {
		was := now.Answers[i].Class
		switch {
		case answer.Class < was:
			return false
		case answer.Class > was:
			better = true
		}
	}
	return better
}

// give gives a want the GPUs of an answer, and notes what is to be said of it.
func (p *Plan) give(place int, answer alloc.Answer, inUse []int) []int {
	w := &p.wants[place]
	w.chosen, w.class = answer.GPUs, answer.Class
	for _, line := range answer.Warnings {
		p.note(w.prefix() + line)
	}
	if answer.Explanation == nil {
		return w.chosen
	}
	text := answer.Explanation.Text(false)
	switch {
	case w.Service != "":
		text = "service " + w.Service + ":\n" + text
	case len(inUse) > 0:
		text += "in use: " + wording.List(inUse) + " (metax-ctk ps)\n"
	}
	p.explanation += text
	return w.chosen
}

func (p *Plan) note(line string) {
	if !slices.Contains(p.notes, line) {
		p.notes = append(p.notes, line)
	}
}

// check fails for a GPU that was chosen and cannot be given, and notes one that is
// unhealthy. What a container had is not judged.
func (p *Plan) check() error {
	for _, w := range p.wants {
		if w.had != nil {
			continue
		}
		if w.slices != nil {
			continue
		}
		for _, i := range w.chosen {
			g := p.Node.GPUs[i]
			if err := givable(p.Node, g); err != nil {
				return err
			}
			if !g.Healthy {
				p.note(whyUnhealthy(p.Node, i))
			}
		}
	}
	return nil
}

// divide splits the healthy GPUs into those that are free and those that are in use. Taken
// are those of other requests.
func divide(node gpu.Node, taken map[int]string, holders []usage.Holder, reserved []gpu.BDF) (free, inUse []int) {
	for _, i := range node.Healthy() {
		if _, ok := taken[i]; ok || refusal(node.GPUs[i], holders, reserved) != nil {
			inUse = append(inUse, i)
		} else {
			free = append(free, i)
		}
	}
	return free, inUse
}
