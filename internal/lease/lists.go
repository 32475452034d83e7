// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// listsLast is how long after a complete look at all processes the kernel's lists may stand
// for another one. A complete look finds what contradicts them, and records processes for
// users who may not look themselves.
const listsLast = 10 * time.Minute

// usableLists are the kernel's lists that may be read instead of the files of processes: those
// in which a look of this boot has seen entries of a process that it saw with the GPU open,
// as long as no look has seen such a process and an empty list.
func (s *State) usableLists(uptime time.Duration) []usage.OpenList {
	age := uptime - s.LookedAt
	if s.ListsContradicted || s.LookedAt == 0 || age < 0 || age > listsLast {
		return nil
	}
	return s.Lists
}

// reconcileLists records what a look at processes learned of the kernel's lists.
func (s *State) reconcileLists(r *observed) {
	l := r.processLook()
	if l == nil {
		return
	}
	if l.Lists.Contradicted {
		s.ListsContradicted = true
	}
	for _, list := range l.Lists.Confirmed {
		s.Lists = slices.DeleteFunc(s.Lists, func(old usage.OpenList) bool { return old.GPU == list.GPU })
		s.Lists = append(s.Lists, list)
	}
	slices.SortFunc(s.Lists, func(a, b usage.OpenList) int { return a.GPU.Compare(b.GPU) })
	if len(s.Lists) > 0 && l.sawEverything() {
		s.LookedAt = max(s.LookedAt, r.begin)
	}
}

// listsSuffice reports whether what was observed decides about each GPU without a look at
// processes: no list was read for one, or each GPU in use by its list has a holder that
// counts. Else the user of the GPU is not known, and may be one that does not count.
func (s *State) listsSuffice(r *observed, holders []usage.Holder) bool {
	l := r.processLook()
	if l == nil || !l.Lists.Instead {
		return true
	}
	return !s.ListsContradicted && s.LookedIn == l.PIDNamespace && !slices.ContainsFunc(l.Lists.InUse, func(g gpu.BDF) bool {
		return !slices.ContainsFunc(holders, func(h usage.Holder) bool { return slices.Contains(h.GPUs, g) })
	})
}

// stillOpen returns those of the GPUs of a process on record that it may have open by the
// kernel's lists.
func (l *Look) stillOpen(gpus []gpu.BDF) []gpu.BDF {
	if !l.Lists.Instead {
		return gpus
	}
	return slices.DeleteFunc(slices.Clone(gpus), func(g gpu.BDF) bool { return !slices.Contains(l.Lists.InUse, g) })
}
