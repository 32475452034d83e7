// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// dockers is the namespace of docker's containers, of which docker tells more.
const dockers = "moby"

// Tasks returns the sources for containerd without its client, which takes longer to
// start than all that metax-docker does. The directories of its tasks say whether there is
// one that nobody knows yet; only then ask asks what the containerd at an address knows.
// The first time they are what was listed ahead, if that is not nil. Usual is a containerd
// to look at in any case.
func Tasks(usual string, ahead <-chan Listed, ask func(ctx context.Context, address string) (ps.Occupancy,
	error),
) func(*procfs.Proc, holders.Devices, lease.State) []lease.Source {
	return func(proc *procfs.Proc, _ holders.Devices, s lease.State) []lease.Source {
		var running Listed
		if ahead != nil {
			running, ahead = <-ahead, nil
		} else {
			running = listTasks(proc)
		}
		var sources []lease.Source
		for _, address := range ContainerdAddresses(s, running.tasks, usual) {
			own := slices.DeleteFunc(slices.Clone(running.tasks), func(t procfs.Task) bool {
				return t.Namespace == dockers || (t.Address != address && Resolve(t.Address) != address)
			})
			unstarted := slices.ContainsFunc(s.Leases, func(l usage.Lease) bool {
				return l.Engine == "containerd" && l.Endpoint == address && l.Unstarted()
			})
			sources = append(sources,
				tasks{proc: proc, address: address, running: own, err: running.err, unstarted: unstarted, ask: ask})
		}
		return sources
	}
}

// Listed is what containerd's directories told.
type Listed struct {
	tasks []procfs.Task
	err   error
}

func listTasks(proc *procfs.Proc) Listed {
	tasks, err := proc.Tasks()
	return Listed{tasks, err}
}

// ListAhead has the tasks listed while the node is read, since both take some milliseconds.
// What starts meanwhile is seen no later than what starts just after a look.
func ListAhead() <-chan Listed {
	ahead := make(chan Listed, 1)
	go func() { ahead <- listTasks(Proc()) }()
	return ahead
}

// tasks is one containerd.
type tasks struct {
	proc    *procfs.Proc
	address string
	running []procfs.Task
	err     error
	// unstarted is true if there are leases of containers that nerdctl made and nobody has
	// started.
	unstarted bool
	ask       func(ctx context.Context, address string) (ps.Occupancy, error)
}

func (t tasks) Name() (engine, endpoint string) { return "containerd", t.address }

// Look returns the running containers. A container that metax-ctk does not mention has none
// of the node's GPUs.
func (t tasks) Look(ctx context.Context, q usage.Question) (usage.Sight, error) {
	if len(t.running) == 0 && !t.unstarted {
		return usage.Sight{Partial: t.err != nil}, t.err
	}
	var told *ps.Occupancy
	var sight usage.Sight
	if t.unstarted {
		answer, err := t.ask(ctx, t.address)
		if err != nil {
			return usage.Sight{Partial: true}, fmt.Errorf("ask metax-ctk for containers that were not started: %w", err)
		}
		told = &answer
		for _, c := range told.Containers {
			if c.State == usage.Created {
				made := usage.Container{Engine: c.Engine, Namespace: c.Namespace, ID: c.ID, State: c.State}
				made.Facts = told.Facts(made.Key())
				sight.Containers = append(sight.Containers, made)
			}
		}
	}
	for _, task := range t.running {
		c := usage.Container{Engine: "containerd", Namespace: task.Namespace, ID: task.ID, State: usage.Running}
		facts, known := q.Seen[c.Key()]
		known = known && len(c.ID) == 64 // a name may be another container's by now
		if !known && told == nil {
			answer, err := t.ask(ctx, t.address)
			if err != nil {
				sight.Partial = true
				return sight, fmt.Errorf("ask metax-ctk for containers that are new: %w", err)
			}
			told = &answer
		}
		if !known {
			facts = told.Facts(c.Key())
		}
		c.Facts = facts
		if len(c.GPUs) > 0 && t.proc.TaskEnded(task) {
			c.State = usage.Exited
		}
		sight.Containers = append(sight.Containers, c)
	}
	if t.err != nil {
		sight.Partial = true
	}
	return sight, t.err
}
