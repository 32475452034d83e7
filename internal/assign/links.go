package assign

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// linkNotes returns a line for each pick that MetaXLink does not join, although it would join as
// many GPUs of the node if nobody used them. It picks again, so it does not run under the lock.
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
