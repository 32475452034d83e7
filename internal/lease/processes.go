// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// processesNow returns the processes that have GPUs open, ascending by PID: those that
// this look found, and those on record. A process that was on record before is gone if it
// has ended, or if this look read all of its files. A process that another client recorded
// meanwhile stays.
func (s *State) processesNow(r *observed) []usage.Process {
	l := r.processLook()
	if l == nil {
		return s.Processes
	}
	all := slices.Clone(l.Processes)
	for _, p := range s.Processes {
		c := p.Client()
		before := slices.ContainsFunc(r.before.Processes, func(o usage.Process) bool { return o.Client() == c })
		if before {
			p.GPUs = l.stillOpen(p.GPUs)
		}
		if before && (len(p.GPUs) == 0 || r.lives[c] == usage.Ended || l.reads(c, r.lives[c])) {
			continue
		}
		if i := slices.IndexFunc(all, func(o usage.Process) bool { return o.Client() == c }); i >= 0 {
			all[i].GPUs = usage.Sorted(slices.Concat(all[i].GPUs, p.GPUs)) // a part was read
			continue
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b usage.Process) int { return cmp.Compare(a.PID, b.PID) })
	return all
}

// reads reports whether the look read all files of a process on record. Even a complete
// look from another pid namespace does not reach it.
func (l *Look) reads(c usage.Client, life usage.Liveness) bool {
	return slices.Contains(l.Read, c) || (l.sawEverything() && (life != usage.Unseen || c.PIDNamespace == 0))
}

// reconcileProcesses records the processes that have GPUs open, and for which GPUs a
// complete look was taken from this pid namespace.
func (s *State) reconcileProcesses(r *observed) {
	s.Processes = s.processesNow(r)
	s.reconcileLists(r)
	l := r.processLook()
	if l == nil || !l.sawEverything() || len(r.gpus) == 0 {
		return
	}
	if s.LookedIn != l.PIDNamespace {
		s.Looked, s.LookedIn = nil, l.PIDNamespace
	}
	s.Looked = usage.Sorted(slices.Concat(s.Looked, r.gpus))
}

// hiddenGPUs returns the GPUs that may be in use by a process which an unfinished look did not
// reach.
func (r *observed) hiddenGPUs() []gpu.BDF {
	if l := r.processLook(); l != nil && l.unfinished() {
		return r.gpus
	}
	return nil
}

// unfinished reports whether the look at processes did not reach its end. Processes that
// this user may not inspect do not count here.
func (l *Look) unfinished() bool { return l.Err != nil && !errors.Is(l.Err, fs.ErrPermission) }

// unseenHolder returns a holder of those of the hidden GPUs that the request names, or for
// which no complete look from this pid namespace was taken; nil if there are none. What
// cannot be seen is not free.
func (s *State) unseenHolder(hidden, named []gpu.BDF, namespace uint64) []usage.Holder {
	var out []gpu.BDF
	for _, g := range hidden {
		if slices.Contains(named, g) || !slices.Contains(s.Looked, g) || s.LookedIn != namespace {
			out = append(out, g)
		}
	}
	if out == nil {
		return nil
	}
	return []usage.Holder{{GPUs: out, Unseen: true}}
}
