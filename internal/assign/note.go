package assign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// maxUsers is the number of users of GPUs that a note names.
const maxUsers = 2

// noteLinks notes each pick that MetaXLink does not join, although it would join as many
// GPUs of the node if nobody used them. It runs without the lock, because it picks again.
func (p *Plan) noteLinks() {
	healthy := p.Node.Healthy()
	for _, w := range p.wants {
		if w.Count < 2 || w.chosen == nil || w.had != nil || w.class == topology.MX || w.Scope != key.Any {
			continue
		}
		linked := func(from []int) bool {
			_, err := p.picker.Pick(alloc.Request{N: w.Count, Free: from, Scope: key.Link, Sizes: alloc.Off})
			return err == nil
		}
		line, remedy := "GPUs "+wording.Ranges(w.chosen)+" are not all linked by MetaXLink", "--gpus-scope=link"
		if !linked(healthy) {
			if unhealthy := unhealthy(p.Node); linked(slices.Concat(healthy, unhealthy)) {
				p.note(w.prefix() + line + "; unhealthy: " + wording.Ranges(unhealthy) + " (metax-ctk health)")
			}
			continue
		}
		if !w.Share && !linked(p.free) {
			remedy += " --gpus-wait=10m"
			if users := users(p.Node, p.holders, Without(healthy, w.chosen)); len(users) > 0 {
				line += "; in use: " + wording.Some(users, maxUsers)
			}
		}
		p.note(w.prefix() + line + ". To get linked ones: " + remedy)
	}
}

// unhealthy are the indices of the GPUs that could be given as a whole if they were healthy.
func unhealthy(node gpu.Node) (indices []int) {
	for _, g := range node.GPUs {
		if _, divided := g.Divided(); !divided && !g.Healthy {
			indices = append(indices, g.Index)
		}
	}
	return indices
}

// users lists who uses which of these GPUs, such as "0,3 by container a (docker)", in the
// order of the GPUs.
func users(node gpu.Node, holders []usage.Holder, gpus []int) []string {
	var names []string
	by := map[string][]int{}
	for _, i := range gpus {
		held := usage.Held(holders, node.GPUs[i].BDF)
		if held == nil {
			continue
		}
		name, _, _ := strings.Cut(held[0].String(), ", ")
		if by[name] == nil {
			names = append(names, name)
		}
		by[name] = append(by[name], i)
	}
	for at, name := range names {
		names[at] = wording.Ranges(by[name]) + " by " + name
	}
	return names
}

// slicesApart fails for slices of several GPUs in one container. A virtual function is a GPU of its
// own.
func (w want) slicesApart(node gpu.Node) error {
	var of []int
	for _, s := range w.slices {
		if sliceOf(node, s).Kind == gpu.SliceSGPU && !slices.Contains(of, s.gpu) {
			of = append(of, s.gpu)
		}
	}
	if len(of) > 1 {
		return w.wrap(fmt.Errorf("slices of GPUs %s in one container: MetaX supports slices of one GPU only (metax-ctk sgpu list)", wording.Ranges(of)))
	}
	return nil
}
