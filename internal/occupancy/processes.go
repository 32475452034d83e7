package occupancy

import (
	"cmp"
	"errors"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// processes returns what the look at processes found, and how it went: not asked is
// neither complete nor unfinished.
func (r *round) processes() (found []Process, complete, unfinished bool) {
	for _, l := range r.looks {
		if l.Engine == Processes {
			found = append(found, l.Processes...)
			complete = l.complete()
			unfinished = errors.Is(l.Err, ErrUnfinished)
		}
	}
	slices.SortStableFunc(found, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return found, complete, unfinished
}

// users are the processes that have GPUs open, ascending by PID: those that this
// look found, and those on record. What was on record before stays where this look
// was not complete, until the process has ended; and so does what somebody recorded
// since this round began.
func (s *State) users(r *round) []Process {
	all, complete, _ := r.processes()
	for _, p := range s.Processes {
		same := func(o Process) bool { return o.client() == p.client() }
		before := slices.ContainsFunc(r.before.Processes, same)
		if gone := before && (complete || r.lives[p.client()] == Ended); !gone && !slices.ContainsFunc(all, same) {
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return all
}

// settleProcesses records what is known of processes from now on.
func (s *State) settleProcesses(r *round) {
	s.Processes = s.users(r)
	if _, complete, _ := r.processes(); complete && len(r.gpus) > 0 {
		s.Looked = Sorted(slices.Concat(s.Looked, r.gpus))
	}
}

// hidden are the GPUs that may be in use by a process which an unfinished look did
// not come to.
func (r *round) hidden() []gpu.BDF {
	if _, _, unfinished := r.processes(); unfinished {
		return r.gpus
	}
	return nil
}

// unseen returns a holder of those of the hidden GPUs that the request names, or
// that no complete look has been taken for. What cannot be seen is not free.
func (s *State) unseen(hidden, named []gpu.BDF) []Holder {
	var out []gpu.BDF
	for _, g := range hidden {
		if slices.Contains(named, g) || !slices.Contains(s.Looked, g) {
			out = append(out, g)
		}
	}
	if out == nil {
		return nil
	}
	return []Holder{{GPUs: out, Unseen: true}}
}
