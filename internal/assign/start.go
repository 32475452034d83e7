// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"errors"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Named is a container that is about to be started, by the name that the command line gave it.
type Named struct {
	Name string
	// Again is the command that makes the container again, with the same GPUs.
	Again string
	usage.Container
}

// NewStart plans how containers take back the GPUs and slices that they have; those
// without any are left out. It fails for two that cannot both have one, and for a container
// that was made for other GPUs. Verb is start or restart.
func NewStart(node gpu.Node, verb string, containers []Named, share bool) (*Plan, error) {
	p := &Plan{Job: Job{Node: node, Verb: usage.VerbStart}}
	owners := map[string]string{} // of what was named so far
	for _, c := range containers {
		// One that runs has its GPUs, but between stop and start of a restart it does not
		// run.
		if runs := c.State == usage.Running || c.State == usage.Paused; (runs && verb == usage.VerbStart) ||
			slices.Contains(p.own, c.ID) {
			continue
		}
		if err := c.CheckGiven(node); errors.Is(err, usage.ErrUUIDsUnknown) {
			return nil, fmt.Errorf("%s %s: %w", verb, c.Name, err)
		} else if err != nil {
			return nil, fmt.Errorf("%s %s: %w. To make it again: %s", verb, c.Name, err, c.Again)
		}
		w := want{
			Request: Request{Share: share}, at: len(p.wants),
			had: &past{lease: c.Lease, container: c.ID, started: c.Started},
		}
		var what []string
		for _, name := range c.Slices {
			w.slices = append(w.slices, part{parentGPU(node, name), name})
			what = append(what, "slice "+name)
		}
		for _, bdf := range c.GPUs {
			g, ok := node.Lookup(bdf)
			_, divided := g.Divided()
			switch {
			case !ok:
				p.gone = fmt.Errorf("GPU %s of the container is not there any more (metax-ctk device list)", bdf)
				continue
			case !divided: // what has slices of a GPU does not hold it
				w.whole = append(w.whole, g.Index)
				what = append(what, fmt.Sprintf("GPU %d", g.Index))
			}
			w.gpus = append(w.gpus, g.Index)
		}
		if len(what) == 0 {
			continue
		}
		for _, thing := range what {
			if other := owners[thing]; other != "" && !share {
				return nil, fmt.Errorf("%s %s: %s also belongs to %s. To start both: --gpus-share", verb, c.Name, thing, other)
			}
			owners[thing] = c.Name
		}
		p.Requests, p.wants, p.own = append(p.Requests, w.Request), append(p.wants, w), append(p.own, c.ID)
	}
	return p, nil
}
