package lease

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// look returns the look at processes, nil if nobody asked for one.
func (r *round) look() *Look {
	i := slices.IndexFunc(r.looks, func(l Look) bool { return l.Engine == usage.Processes })
	if i < 0 {
		return nil
	}
	return &r.looks[i]
}

// users are the processes that have GPUs open, ascending by PID: those that this
// look found, and those on record. What was on record before is gone where the
// process has ended, or where this look read all of it and did not find it. What
// somebody recorded since this round began stays.
func (s *State) users(r *round) []usage.Process {
	l := r.look()
	if l == nil {
		return s.Processes
	}
	all := slices.Clone(l.Processes)
	for _, p := range s.Processes {
		c := p.Client()
		before := slices.ContainsFunc(r.before.Processes, func(o usage.Process) bool { return o.Client() == c })
		if before && (r.lives[c] == usage.Ended || l.reads(c, r.lives[c])) {
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

// reads reports whether the look read all files of a process on record. A look from
// another pid namespace does not come to it, however complete it is.
func (l *Look) reads(c usage.Client, life usage.Life) bool {
	return slices.Contains(l.Read, c) || l.complete() && (life != usage.Unseen || c.PIDNamespace == 0)
}

// settleProcesses records what is known of processes from now on. A complete look
// counts where its pid namespace does.
func (s *State) settleProcesses(r *round) {
	s.Processes = s.users(r)
	l := r.look()
	if l == nil || !l.complete() || len(r.gpus) == 0 {
		return
	}
	if s.LookedIn != l.PIDNamespace {
		s.Looked, s.LookedIn = nil, l.PIDNamespace
	}
	s.Looked = usage.Sorted(slices.Concat(s.Looked, r.gpus))
}

// namespace is the pid namespace in which processes were looked at.
func (r *round) namespace() uint64 {
	if l := r.look(); l != nil {
		return l.PIDNamespace
	}
	return 0
}

// hidden are the GPUs that may be in use by a process which an unfinished look did
// not come to.
func (r *round) hidden() []gpu.BDF {
	if l := r.look(); l != nil && l.unfinished() {
		return r.gpus
	}
	return nil
}

// unfinished reports whether the look at processes did not come to its end. That a
// user may not look into the processes of others is another matter.
func (l *Look) unfinished() bool { return l.Err != nil && !errors.Is(l.Err, fs.ErrPermission) }

// unseen returns a holder of those of the hidden GPUs that the request names, or
// that no complete look from this pid namespace has been taken for. What cannot be
// seen is not free.
func (s *State) unseen(hidden, named []gpu.BDF, namespace uint64) []usage.Holder {
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
