// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Plan is what is to be done now.
type Plan struct {
	// Taken is to be in the status before anything else is done.
	Taken   []Take // sorted
	Changes []Change
	Evict   []Pod
	Remove  []Driver // driver pods to delete
	// Ready, Reason and Message are those of the condition. Without a reason there is none.
	Ready           bool
	Reason, Message string
	// Again is when to look again, if nothing changes before; zero is never.
	Again time.Time
}

// Change is what is written to a Node.
type Change struct {
	Node, Version string
	Record        Record // the annotation; the zero value removes it
	Unschedulable *bool  // nil: as it is
}

// round is one look at all nodes.
type round struct {
	Snapshot
	Plan
	taken map[string]int // turns, as the plan has them

	doing, waiting, failed []string // with why; waiting is why no further node is taken
	outdated               []Node   // candidates that are not taken
	old                    []string // nodes whose agent is older
	done, active           int
	spoiled                int               // failed nodes that do not have the old driver any more
	records                map[string]string // as they are, by node
}

// Decide returns what is to be done now.
func Decide(s Snapshot) Plan {
	r := &round{Snapshot: s, taken: map[string]int{}, records: map[string]string{}}
	for _, n := range s.Nodes {
		r.records[n.Name] = n.Record.String()
	}
	switch {
	case !s.Deployed:
		r.releaseAll()
		return r.Plan
	case s.Invalid != nil:
		return Plan{Taken: s.Taken, Reason: Invalid, Message: "no node is changed: " + s.Invalid.Error()}
	case s.Revision == "":
		return Plan{Taken: s.Taken, Reason: Progressing, Message: "the driver's DaemonSet is being written"}
	}
	// What is left of an upgrade on a node that has no driver of the operator's any more is no
	// part of this.
	r.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n Node) bool {
		return n.Driver == nil && !n.Record.isUpgrading() && n.Record.State != Failed
	})
	for i := range r.Nodes {
		r.look(&r.Nodes[i])
	}
	r.take()
	r.renew()
	for _, name := range slices.Sorted(maps.Keys(r.taken)) {
		r.Plan.Taken = append(r.Plan.Taken, Take{name, r.taken[name]})
	}
	r.summarizeProgress()
	return r.Plan
}

// releaseAll puts all nodes back into service and removes the records.
func (r *round) releaseAll() {
	for _, n := range r.Nodes {
		if n.Record.State != "" {
			r.carry(n, endUpgrade(n, Record{}))
		}
	}
}

// look is the step of a node that has a record.
func (r *round) look(n *Node) {
	n.Record.Cordoned = n.Record.Cordoned && n.Unschedulable // else a person uncordoned it, and may cordon it again
	if n.Record.Since.After(r.Now.Add(time.Minute)) {        // not written by a clock like this one
		n.Record.Since = r.Now.UTC().Truncate(time.Second)
	}
	record, old := n.Record, n.Record.To != r.Revision
	switch {
	case record.isUpgrading() || (old && record.Cordoned && !n.hasOutdatedDriver(r.Revision)):
		r.active++
		r.taken[n.Name] = record.Turn
		out := r.nextStep(*n)
		r.carry(*n, out)
		r.doing = append(r.doing, fmt.Sprintf("%s (%s)", n.Name, strings.TrimSuffix(string(record.State)+": "+out.why, ": ")))
	// nothing of the operator's is left there
	case record.State == Failed && n.Driver == nil && n.HostDriver && n.DriverReady:
		r.carry(*n, endUpgrade(*n, Record{}))
	case !old && record.State == Failed:
		if !n.hasOutdatedDriver(r.Revision) {
			r.spoiled++
		}
		r.failed = append(r.failed, n.Name+": "+record.Why)
		if record.Cordoned || n.hasDriverRevision(r.Revision) {
			r.taken[n.Name] = record.Turn
		}
		r.carry(*n, r.nextStep(*n))
	case !old && record.State == Done:
		r.done++
	case n.hasOutdatedDriver(r.Revision):
		r.outdated = append(r.outdated, *n)
	default:
		r.carry(*n, step{record: n.Record})
	}
}

// carry adds the step of a node to the plan.
func (r *round) carry(n Node, out step) {
	if out.cordon != nil && *out.cordon == n.Unschedulable {
		out.cordon = nil
	}
	if out.cordon != nil || out.record.String() != r.records[n.Name] {
		r.Changes = append(r.Changes, Change{Node: n.Name, Version: n.Version, Record: out.record, Unschedulable: out.cordon})
	}
	r.Evict = append(r.Evict, out.evict...)
	if out.remove != nil {
		r.Remove = append(r.Remove, *out.remove)
	}
	r.again(out.until)
}

func (r *round) again(at time.Time) {
	if !at.IsZero() && (r.Again.IsZero() || at.Before(r.Again)) {
		r.Again = at
	}
}

// idleOnly reports whether only nodes are upgraded whose GPUs no pod uses.
func (s Snapshot) idleOnly() bool { return s.Policy.Unavailable.Of(len(s.Nodes)) == 0 }

// isOut reports whether pods cannot use the GPUs of a node now.
func (r *round) isOut(n Node) bool {
	_, taken := r.taken[n.Name]
	return taken || n.Unschedulable || !n.Ready || !n.DriverReady
}

// take takes further nodes out of service, as many as the policy allows.
func (r *round) take() {
	b, before := r.budget(), map[string]int{}
	for _, t := range r.Snapshot.Taken {
		before[t.Name] = t.Turn
	}
	rank := func(n Node) int {
		switch {
		case before[n.Name] > n.Record.Turn:
			return 0
		case r.isOut(n):
			return 1
		case len(n.podsUsingGPUs()) == 0:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(r.outdated, func(a, b Node) int { return rank(a) - rank(b) })
	waits := map[string][]string{}
	for _, n := range r.outdated {
		turn, already := before[n.Name], before[n.Name] > n.Record.Turn
		if why := r.mayNot(n, b); why != "" {
			waits[why] = append(waits[why], n.Name)
			if already {
				r.forget(n, turn)
			} else {
				r.carry(n, step{record: n.Record})
			}
			continue
		}
		if !already {
			turn = min(n.Record.Turn+1, mostTurns)
		}
		r.active++
		if !r.isOut(n) {
			b.out++
		}
		r.taken[n.Name] = turn
		r.doing = append(r.doing, n.Name+" (to be cordoned)")
		r.carry(n, r.beginUpgrade(n, turn))
	}
	for _, n := range r.Nodes { // those that got the driver in the meantime
		if _, taken := r.taken[n.Name]; !taken && before[n.Name] > n.Record.Turn && !n.hasOutdatedDriver(r.Revision) {
			r.forget(n, before[n.Name])
		}
	}
	for _, why := range slices.Sorted(maps.Keys(waits)) {
		r.waiting = append(r.waiting, fmt.Sprintf("%s: %s", why, wording.Some(waits[why], mostNames)))
	}
}

// renew deletes driver pods of an older template that have the same driver, as many at once as
// nodes may be upgraded. Pods that use GPUs go on: nothing is unloaded.
func (r *round) renew() {
	away := r.Desired
	var old []Node
	for _, n := range r.Nodes {
		if n.Record.isUpgrading() || n.Driver == nil || n.Driver.Ending {
			continue
		}
		if n.Driver.Running {
			away--
		}
		if n.hasDriverRevision(r.Revision) && n.Driver.Old {
			old = append(old, n)
		}
	}
	stopped, parallel := r.stopReason(), r.Policy.Parallel.Of(len(r.Nodes))
	for _, n := range old {
		if stopped == "" && (away < parallel || !n.Driver.Running) {
			if n.Driver.Running {
				away++
			}
			r.Remove = append(r.Remove, *n.Driver)
		} else {
			r.old = append(r.old, n.Name)
		}
	}
}

// budget is how many nodes may be upgraded.
type budget struct {
	stopped                      string
	steps, parallel, unavailable int
	out                          int // nodes that are out of service
}

func (r *round) budget() *budget {
	total := len(r.Nodes)
	b := &budget{
		stopped: r.stopReason(), steps: r.limit(total), parallel: r.Policy.Parallel.Of(total),
		unavailable: r.Policy.Unavailable.Of(total),
	}
	for _, n := range r.Nodes {
		if r.isOut(n) {
			b.out++
		}
	}
	return b
}

// mayNot is why a node may not be taken, "" if it may.
func (r *round) mayNot(n Node, b *budget) string {
	switch {
	case b.stopped != "":
		return b.stopped
	case !n.Ready:
		return "their kubelets are not ready"
	case n.isUnheard():
		return "what their agents report does not arrive (metax-gpu-label)"
	case b.unavailable == 0 && len(n.podsUsingGPUs()) > 0:
		return "pods use their GPUs"
	case r.active >= b.parallel:
		return fmt.Sprintf("at most %d at once (maxParallel)", b.parallel)
	case r.active+r.done+r.spoiled >= b.steps && r.spoiled > 0:
		return fmt.Sprintf("%d failed in a step of upgradeSteps", r.spoiled)
	case r.active+r.done >= b.steps:
		return "a pause of upgradeSteps"
	case !r.isOut(n) && b.unavailable > 0 && b.out >= b.unavailable:
		return wording.Count(b.out, "node") + " out of service (maxUnavailable)"
	}
	return ""
}

// forget lets go of a node that was taken and is not cordoned, as far as is known. It stays
// taken until the Node was written: what another controller would still write to it then
// fails.
func (r *round) forget(n Node, turn int) {
	r.taken[n.Name] = turn
	r.carry(n, putBack(n, r.Revision, turn, r.Now))
}

// limit is how many nodes may have been upgraded by the steps, those that are being upgraded
// among them.
func (r *round) limit(total int) int {
	var times []time.Time
	for _, n := range r.Nodes {
		if n.Record.State == Done && n.Record.To == r.Revision {
			times = append(times, n.Record.Since)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, step := range r.Policy.Steps {
		replicas := step.Replicas.Of(total)
		if len(times) < replicas {
			return replicas
		}
		if end := times[replicas-1].Add(step.Pause); r.Now.Before(end) {
			r.again(end)
			return replicas
		}
	}
	return total
}
