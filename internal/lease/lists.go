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
	s.Lists, s.Emptied = mergeLists(s.Lists, l.Lists.Confirmed), mergeLists(s.Emptied, l.Lists.Empty)
	if len(s.Lists) > 0 && l.sawEverything() {
		s.LookedAt = max(s.LookedAt, r.begin)
	}
}

// mergeLists returns the old lists and the new ones, one for each GPU, ascending.
func mergeLists(old, add []usage.OpenList) []usage.OpenList {
	all := slices.Clone(add)
	for _, list := range old {
		if !slices.ContainsFunc(add, func(a usage.OpenList) bool { return a.GPU == list.GPU }) {
			all = append(all, list)
		}
	}
	slices.SortFunc(all, func(a, b usage.OpenList) int { return a.GPU.Compare(b.GPU) })
	return all
}

// addUnnamed adds the GPUs that only the kernel's list shows to be in use. A list that was
// never empty in this boot does not count: a driver could have entries of its own.
func (m *holderMerge) addUnnamed() {
	l := m.observed.processLook()
	if l == nil {
		return
	}
	for _, list := range l.Lists.Unnamed {
		if slices.Contains(m.state.Emptied, list) && len(usage.Held(m.out, list.GPU)) == 0 {
			m.add("", usage.Holder{GPUs: []gpu.BDF{list.GPU}})
		}
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
	unknown := func(g gpu.BDF) bool { return len(usage.Held(holders, g)) == 0 }
	return !s.ListsContradicted && s.LookedIn == l.PIDNamespace && !slices.ContainsFunc(l.Lists.InUse, unknown)
}

// stillOpen returns those of the GPUs of a process on record that it may have open by the
// kernel's lists.
func (l *Look) stillOpen(gpus []gpu.BDF) []gpu.BDF {
	if !l.Lists.Instead {
		return gpus
	}
	return slices.DeleteFunc(slices.Clone(gpus), func(g gpu.BDF) bool { return !slices.Contains(l.Lists.InUse, g) })
}
