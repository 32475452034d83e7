package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
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
	done, active           int
}

// Decide returns what is to be done now.
func Decide(s Snapshot) Plan {
	r := &round{Snapshot: s, taken: map[string]int{}}
	switch {
	case !s.Deployed:
		r.releaseAll()
		return r.Plan
	case s.Invalid != nil:
		return Plan{Taken: s.Taken, Reason: Invalid, Message: "no node is changed: " + s.Invalid.Error()}
	case s.Revision == "":
		return Plan{Taken: s.Taken, Reason: Progressing, Message: "the driver's DaemonSet is being written"}
	}
	// What is left of an upgrade on a node that has no driver of the operator's any more is no part of this.
	r.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n Node) bool {
		return n.Driver == nil && !n.Record.active() && n.Record.State != Failed
	})
	for i := range r.Nodes {
		r.look(&r.Nodes[i])
	}
	r.take()
	for _, name := range slices.Sorted(maps.Keys(r.taken)) {
		r.Plan.Taken = append(r.Plan.Taken, Take{name, r.taken[name]})
	}
	r.sum()
	return r.Plan
}

// releaseAll puts all nodes back into service and removes the records.
func (r *round) releaseAll() {
	for _, n := range r.Nodes {
		if n.Record.State != "" {
			r.carry(n, release(n, Record{}))
		}
	}
}

// look is the step of a node that has a record.
func (r *round) look(n *Node) {
	if n.Record.Since.After(r.Now.Add(time.Minute)) { // not written by a clock like this one
		n.Record.Since = r.Now.UTC().Truncate(time.Second)
	}
	record, old := n.Record, n.Record.To != r.Revision
	switch {
	case record.active() || old && record.Cordoned && !n.outdated(r.Revision):
		r.active++
		r.taken[n.Name] = record.Turn
		out := r.next(*n)
		r.carry(*n, out)
		r.doing = append(r.doing, fmt.Sprintf("%s (%s)", n.Name, strings.TrimSuffix(string(record.State)+": "+out.why, ": ")))
	case !old && record.State == Failed:
		r.failed = append(r.failed, n.Name+": "+record.Why)
		if record.Cordoned || n.has(r.Revision) {
			r.taken[n.Name] = record.Turn
		}
		r.carry(*n, r.next(*n))
	case !old && record.State == Done:
		r.done++
	case n.outdated(r.Revision):
		r.outdated = append(r.outdated, *n)
	}
}

// carry adds the step of a node to the plan.
func (r *round) carry(n Node, out step) {
	if out.cordon != nil && *out.cordon == n.Unschedulable {
		out.cordon = nil
	}
	if out.cordon != nil || out.record.String() != n.Record.String() {
		r.Changes = append(r.Changes, Change{n.Name, n.Version, out.record, out.cordon})
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
	return taken || n.Unschedulable || !n.Ready || !n.Report.Ready
}

// take takes further nodes out of service, as many as the policy allows.
func (r *round) take() {
	total := len(r.Nodes)
	limit, parallel, unavailable, out := r.limit(total), r.Policy.Parallel.Of(total), r.Policy.Unavailable.Of(total), 0
	for _, n := range r.Nodes {
		if r.isOut(n) {
			out++
		}
	}
	before := map[string]int{}
	for _, t := range r.Snapshot.Taken {
		before[t.Name] = t.Turn
	}
	rank := func(n Node) int {
		switch {
		case before[n.Name] > n.Record.Turn:
			return 0
		case r.isOut(n):
			return 1
		case len(n.using()) == 0:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(r.outdated, func(a, b Node) int { return rank(a) - rank(b) })
	waits, stopped := map[string][]string{}, r.stopped()
	for _, n := range r.outdated {
		turn, already := before[n.Name], before[n.Name] > n.Record.Turn
		if !already {
			turn = n.Record.Turn + 1
		}
		cost := 1
		if r.isOut(n) {
			cost = 0
		}
		why := ""
		switch {
		case stopped != "":
			why = stopped
		case !n.Ready:
			why = "their kubelets are not ready"
		case unavailable == 0 && len(n.using()) > 0:
			why = "pods use their GPUs"
		case r.active >= parallel:
			why = fmt.Sprintf("at most %d at once (maxParallel)", parallel)
		case r.active+r.done >= limit:
			why = "a pause of upgradeSteps"
		case cost > 0 && unavailable > 0 && out >= unavailable:
			why = fmt.Sprintf("%d nodes are out of service (maxUnavailable)", out)
		}
		if why != "" {
			waits[why] = append(waits[why], n.Name)
			if already {
				r.forget(n, turn)
			}
			continue
		}
		r.active++
		out += cost
		r.taken[n.Name] = turn
		r.doing = append(r.doing, n.Name+" (to be cordoned)")
		r.carry(n, r.begin(n, turn))
	}
	for _, n := range r.Nodes { // those that got the driver in the meantime
		if _, taken := r.taken[n.Name]; !taken && before[n.Name] > n.Record.Turn && !n.outdated(r.Revision) {
			r.forget(n, before[n.Name])
		}
	}
	for _, why := range slices.Sorted(maps.Keys(waits)) {
		r.waiting = append(r.waiting, fmt.Sprintf("%s: %s", why, some(waits[why])))
	}
}

// forget lets go of a node that was taken and is not cordoned, as far as is known. It stays taken until the Node was
// written: what another controller would still write to it then fails.
func (r *round) forget(n Node, turn int) {
	r.taken[n.Name] = turn
	r.carry(n, putBack(n, r.Revision, turn, r.Now))
}

// limit is how many nodes may have been upgraded by the steps, those that are being upgraded among them.
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
