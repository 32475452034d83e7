// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

const (
	// settle is how long a cordoned node is left alone, because a scheduler may not have seen
	// the cordon.
	settle = 10 * time.Second
	// patience is how long the driver pod may take to end, to begin, and to be ready.
	patience = 15 * time.Minute
	// mostWhy is how many bytes the reason of a failure has at most, with what to do.
	mostWhy = 300
	// retry is how long it takes until a pod that may not be evicted is tried again.
	retry = 10 * time.Second
)

// step is what happens to one node now.
type step struct {
	record Record
	cordon *bool // spec.unschedulable is to be this
	evict  []Pod
	remove *Driver // the driver pod to delete
	why    string  // what it waits for
	until  time.Time
}

func enter(r Record, to State, now time.Time) step {
	r.State, r.Since = to, now.UTC().Truncate(time.Second)
	return step{record: r}
}

// endUpgrade ends an upgrade, with a record that stays. It uncordons the node if the upgrade
// cordoned it.
func endUpgrade(n Node, r Record) step {
	out := step{record: r}
	if n.Record.Cordoned {
		out.cordon = new(bool)
	}
	out.record.Cordoned = false
	return out
}

// putBack ends an upgrade that can begin again at any time.
func putBack(n Node, to string, turn int, now time.Time) step {
	return endUpgrade(n, enter(Record{To: to, Turn: turn}, Released, now).record)
}

// giveUp ends an upgrade before anything of the node was changed: its old driver goes on.
func giveUp(n Node, now time.Time, why string) step {
	r := enter(n.Record, Failed, now).record
	remedy := "; to try again: kubectl annotate node " + n.Name + " " + Annotation + "-"
	r.Why = wording.Short(why, max(mostWhy-len(remedy), mostWhy/3)) + remedy
	return endUpgrade(n, r)
}

// fail ends an upgrade that left the node without a driver that works: it stays cordoned.
func fail(n Node, now time.Time, why string) step {
	out := enter(n.Record, Failed, now)
	out.record.Why = wording.Short(why, mostWhy)
	return out
}

// beginUpgrade takes a node out of service.
func (s Snapshot) beginUpgrade(n Node, turn int) step {
	out := enter(Record{To: s.Revision, Turn: turn, Cordoned: !n.Unschedulable || n.Record.Cordoned}, Jobs, s.Now)
	if !n.Unschedulable {
		yes := true
		out.cordon = &yes
	}
	return out
}

// nextStep is the step of a node that is being upgraded, or that failed.
func (s Snapshot) nextStep(n Node) step {
	r := n.Record
	if r.To != s.Revision { // the request changed in the meantime
		r.To = s.Revision
		if n.hasDriverRevision(s.Revision) {
			return enter(r, Restart, s.Now)
		}
		return enter(r, Jobs, s.Now)
	}
	switch r.State {
	case Jobs:
		return s.wait(n)
	case Deletion:
		return s.evict(n, s.Policy.Deletion, func(p Pod) bool { return p.GPU })
	case Drain:
		return s.evict(n, s.Policy.Drain, func(p Pod) bool { return p.GPU || !p.Daemon })
	case Restart:
		return s.restart(n)
	case Validation:
		return s.validate(n)
	case Failed:
		if s.driverUnreadyReason(n) == "" {
			return endUpgrade(n, enter(Record{To: r.To, Turn: r.Turn}, Done, s.Now).record)
		}
	case Done, Released: // the upgrade has ended
	}
	return step{record: r}
}

// wait is the step of a node in Jobs.
func (s Snapshot) wait(n Node) step {
	r, using, p := n.Record, n.podsUsingGPUs(), s.Policy
	ends := p.Deletion.Enabled || p.Drain.Enabled
	settled, late := r.Since.Add(settle), r.Since.Add(p.Wait)
	switch {
	case len(using) > 0 && s.idleOnly():
		return putBack(n, r.To, r.Turn, s.Now) // a pod came between the look at the node and the cordon
	case s.Now.Before(settled):
		return step{record: r, until: settled, why: "just cordoned"}
	case len(using) == 0 && p.Drain.Enabled:
		return enter(r, Drain, s.Now)
	case len(using) == 0:
		return enter(r, Restart, s.Now)
	case (ends || p.Wait > 0) && s.Now.Before(late):
		return step{record: r, until: late, why: inUse(using)}
	case p.Deletion.Enabled:
		return enter(r, Deletion, s.Now)
	case p.Drain.Enabled:
		return enter(r, Drain, s.Now)
	case p.Wait > 0:
		return giveUp(n, s.Now, fmt.Sprintf("after %s, %s", p.Wait, inUse(using)))
	}
	return step{record: r, why: inUse(using)}
}

func inUse(pods []string) string { return "GPUs are used by " + wording.Some(pods, mostNames) }

// evict is the step of a node in Deletion or Drain: it goes on when no pod of a kind is left.
func (s Snapshot) evict(n Node, e Eviction, of func(Pod) bool) step {
	r, drain := n.Record, n.Record.State == Drain
	out := step{record: r}
	var left []string
	for _, p := range n.Pods {
		if !of(p) {
			continue
		}
		name := p.Namespace + "/" + p.Name
		switch {
		case p.Ending || !e.Enabled: // waited for, or not to be touched
		case p.Daemon:
			name += " (not evicted: it would come back)"
		case !p.Managed && !e.Force:
			name += " (not evicted: no controller creates it again, and force is not true)"
		default:
			out.evict = append(out.evict, p)
		}
		left = append(left, name)
	}
	late := r.Since.Add(e.Timeout)
	switch {
	case s.idleOnly() && len(n.podsUsingGPUs()) > 0: // since now
		return putBack(n, r.To, r.Turn, s.Now)
	case len(left) == 0 && !drain && s.Policy.Drain.Enabled:
		return enter(r, Drain, s.Now)
	case len(left) == 0:
		return enter(r, Restart, s.Now)
	case !e.Enabled: // switched off in the meantime
		return enter(r, Jobs, s.Now)
	case e.Timeout == 0 || s.Now.Before(late):
		out.until, out.why = s.Now.Add(retry), "pods are to end: "+wording.Some(left, mostNames)
		if e.Timeout > 0 && late.Before(out.until) {
			out.until = late
		}
		return out
	case !drain && s.Policy.Drain.Enabled:
		return enter(r, Drain, s.Now)
	}
	return giveUp(n, s.Now, fmt.Sprintf("pods did not end within %s: %s", e.Timeout, wording.Some(left, mostNames)))
}

// restart is the step of a node in Restart.
func (s Snapshot) restart(n Node) step {
	r, late := n.Record, n.Record.Since.Add(patience)
	switch {
	case n.hasDriverRevision(s.Revision) && n.Driver.Running:
		return enter(r, Validation, s.Now)
	case n.hasOutdatedDriver(s.Revision) && len(n.podsUsingGPUs()) > 0:
		return enter(r, Jobs, s.Now) // a pod came that tolerates the cordon
	case !s.Now.Before(late):
		return fail(n, s.Now, fmt.Sprintf("no new driver pod that runs within %s", patience))
	case n.hasOutdatedDriver(s.Revision):
		return step{record: r, until: late, why: "its driver pod is to end", remove: n.Driver}
	}
	return step{record: r, until: late, why: "a new driver pod is to run"}
}

// validate is the step of a node in Validation.
func (s Snapshot) validate(n Node) step {
	r, late := n.Record, n.Record.Since.Add(patience)
	why := s.driverUnreadyReason(n)
	switch {
	case !n.hasDriverRevision(s.Revision) || !n.Driver.Running:
		return enter(r, Restart, s.Now)
	case why == "":
		return endUpgrade(n, enter(Record{To: r.To, Turn: r.Turn}, Done, s.Now).record)
	case s.Now.Before(late):
		return step{record: r, until: late, why: why}
	}
	return fail(n, s.Now, why)
}
