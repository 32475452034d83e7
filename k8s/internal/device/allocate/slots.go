// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// slots returns, for each container, the numbers of its slices in the scheduler's lists, and
// the slices by number. There are three layouts: a list for each container, the init
// containers first (HAMi); one for each container that is not an init container (older HAMi);
// and one for the pod (Koordinator). Sidecars and ordinary containers run at the same time, so
// their slices have different numbers. Another init container ends before those after it
// start, and uses their slices: in the last two layouts the first, in the first one those that
// are large enough.
func (p SlicePod) slots() (byContainer [][]int, all []foreign.Slice, err error) {
	lists := p.Choice.Lists
	all = slices.Concat(lists...)
	fits := func(containers []allocations.Wanted) bool {
		return slices.EqualFunc(lists, containers,
			func(list []foreign.Slice, c allocations.Wanted) bool { return len(list) == c.Count })
	}
	var from []int         // by container: the first of its slices
	together, most := 0, 0 // slices of those that run at the same time; the most at one time
	next, separate := 0, fits(p.Containers)
	for i, c := range p.Containers {
		most = max(most, together+c.Count)
		if separate {
			from = append(from, next)
		} else {
			from = append(from, together)
		}
		next += c.Count
		if !p.once[i] {
			together += c.Count
		}
	}
	if !separate && ((len(lists) != 1 && !fits(p.Containers[p.Init:])) || len(all) != most) {
		return nil, nil,
			fmt.Errorf("the scheduler chose %s, which are not those that the containers request", describe(lists))
	}
	for i, c := range p.Containers {
		var own []int
		for slot := from[i]; slot < from[i]+c.Count; slot++ {
			own = append(own, slot)
		}
		byContainer = append(byContainer, own)
	}
	if separate {
		p.shareSlots(byContainer, all)
	}
	return byContainer, all, nil
}

// shareSlots gives the init containers that end slices of others, of the same GPU and at least
// as large, that do not run at the same time: HAMi counts, for each GPU, what all who run at
// the same time have, and not what was before. The largest choose first, so that of two init
// containers the smaller one uses the slice of the other.
func (p SlicePod) shareSlots(byContainer [][]int, all []foreign.Slice) {
	type request struct{ container, at int } // byContainer[container][at]
	var requests []request
	users := make([][]int, len(all)) // the containers of each slot
	for i, own := range byContainer {
		for at, slot := range own {
			if p.once[i] {
				requests = append(requests, request{i, at})
			} else {
				users[slot] = append(users[slot], i)
			}
		}
	}
	size := func(r request) foreign.Slice { return all[byContainer[r.container][r.at]] }
	slices.SortStableFunc(requests, func(a, b request) int {
		x, y := size(a), size(b)
		return cmp.Or(cmp.Compare(y.Compute, x.Compute), cmp.Compare(y.MemoryMiB, x.MemoryMiB))
	})
	for _, r := range requests {
		own := size(r)
		// Of the others, only a sidecar that starts before it runs at the same time.
		runsBeside := func(user int) bool { return user == r.container || (!p.once[user] && user < r.container) }
		for slot, s := range all {
			isLarge := s.UUID.Equal(string(own.UUID)) && s.Compute >= own.Compute && s.MemoryMiB >= own.MemoryMiB
			if isLarge && len(users[slot]) > 0 && !slices.ContainsFunc(users[slot], runsBeside) {
				byContainer[r.container][r.at] = slot
				break
			}
		}
		slot := byContainer[r.container][r.at]
		users[slot] = append(users[slot], r.container)
	}
}
