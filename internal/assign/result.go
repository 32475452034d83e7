// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
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

// Result returns what the choice comes to under these leases: those of the plan's wants in
// their order, then others. Without leases it is a preview.
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

// OwnLabels are the labels that tie a container to its lease. Only this toolkit may
// give them.
var OwnLabels = []string{usage.LeaseLabel, usage.GPUsLabel, usage.SlicesLabel, usage.IDsLabel}

// leaseLabels are the labels of a container with these GPUs under the lease.
func leaseLabels(l usage.Lease, gpus []gpu.GPU) map[string]string {
	indices := make([]string, len(gpus))
	for i, g := range gpus {
		indices[i] = strconv.Itoa(g.Index)
	}
	all := map[string]string{
		usage.LeaseLabel: l.ID, usage.GPUsLabel: strings.Join(indices, ","),
		usage.IDsLabel: strings.Join(usage.IDs(gpus), ","),
	}
	if len(l.Slices) > 0 {
		all[usage.SlicesLabel] = strings.Join(l.Slices, ",")
	}
	return all
}

// ownLabels are those of the labels that only this toolkit gives: compose makes a container
// anew if one of them is added or changes.
func ownLabels(all map[string]string) map[string]string {
	own := map[string]string{}
	for _, label := range OwnLabels {
		if value, ok := all[label]; ok {
			own[label] = value
		}
	}
	return own
}

// linkNotes returns a line for each pick that MetaXLink does not join, although it would join
// as many GPUs of the node if nobody used them. It picks again, so it does not run under the
// lock.
func (c Choice) linkNotes() (notes []string) {
	node := c.plan.Node
	healthy, unhealthy := node.Healthy(), unhealthyGPUs(node)
	for i, w := range c.plan.wants {
		if w.Count < 2 || w.had != nil || c.picks[i].class == topology.MX || w.Scope != key.Any {
			continue
		}
		linked := func(from []int) bool {
			_, err := c.plan.picker.Pick(alloc.Request{N: w.Count, Free: from, Scope: key.Link, Sizes: alloc.Off})
			return err == nil
		}
		chosen := c.picks[i].gpus
		line, remedy := "GPUs "+wording.Ranges(chosen)+" are not all linked by MetaXLink", "--gpus-scope=link"
		if !linked(healthy) {
			if linked(slices.Concat(healthy, unhealthy)) {
				notes = append(notes, w.servicePrefix()+line+"; unhealthy: "+wording.Ranges(unhealthy)+" (metax-ctk health)")
			}
			continue
		}
		if !w.Share && !linked(c.free) {
			remedy += " --gpus-wait=10m"
			if users := gpuUsers(node, c.holders, Without(healthy, chosen)); len(users) > 0 {
				line += "; in use: " + wording.Some(users, maxUsers)
			}
		}
		notes = append(notes, w.servicePrefix()+line+". To get linked ones: "+remedy)
	}
	return notes
}
