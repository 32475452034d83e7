package assign

import (
	"maps"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Given is what a request got.
type Given struct {
	GPUs   []gpu.GPU // ascending; also those that Slices are parts of
	Slices []gpu.Slice
	Labels map[string]string // that tie the container to its lease; nil without a lease
}

// Result is what a Choice comes to.
type Result struct {
	Given       []Given       // in the order of the requests; without GPUs for one that got none
	Warnings    []string      // of the choice first, then of the node
	Explanation string        // lines, if they were requested
	Leases      []usage.Lease // of those that have no container yet
}

// Preview returns what the plan would come to now; no lease is taken.
func (p *Plan) Preview(r lease.Report) (Result, error) {
	choice, err := p.Choose(r.HoldersOf(p.namedGPUs()), nil)
	if err != nil {
		return Result{}, err
	}
	return choice.Result(nil), nil
}

// Result returns what the choice comes to under these leases: those of the plan's wants in their
// order, then others. Without leases it is a preview.
func (c Choice) Result(leases []usage.Lease) Result {
	p := c.plan
	r := Result{
		Given:       make([]Given, len(p.Requests)),
		Warnings:    slices.Concat(appendNew(nil, slices.Concat(c.notes, c.linkNotes())...), p.warnings),
		Explanation: c.explanation,
		// Those of containers that run are not to be given back.
		Leases: slices.DeleteFunc(slices.Clone(leases), func(l usage.Lease) bool { return l.Bound }),
	}
	for _, w := range p.kept {
		r.Given[w.at] = p.given(w, w.had.gpus)
	}
	for i, w := range p.wants {
		given := p.given(w, c.picks[i].gpus)
		if w.had == nil && leases != nil {
			given.Labels = leaseLabels(leases[i], given.GPUs)
		}
		r.Given[w.at] = given
	}
	return r
}

// given is what a want gets with these GPUs, without the labels of a new lease.
func (p *Plan) given(w want, gpus []int) (given Given) {
	for _, i := range gpus {
		given.GPUs = append(given.GPUs, p.Node.GPUs[i])
	}
	if p.Verb != usage.VerbStart { // which gives nothing new
		for _, s := range w.slices {
			given.Slices = append(given.Slices, sliceOf(p.Node, s))
		}
	}
	if w.had != nil {
		given.Labels = maps.Clone(w.had.labels)
	}
	return given
}
