// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"cmp"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Preference is an answer to GetPreferredAllocation.
type Preference struct {
	IDs []string // in the order of the devices
	// Guessed says that the container was known.
	Guessed bool
	// Fallback is why the picker did not choose, empty if it did.
	Fallback string
}

// Prefer returns n of the available devices, those of required among them: the ones that the
// picker chooses among those that are healthy and that nobody outside Kubernetes uses. If it
// cannot choose, the answer is the first n devices: required ones, those that the picker could
// have chosen, then those in use outside, unhealthy ones, and unknown ones.
//
// What the container's pod says counts if usePod is true and the container is known.
//
// It never fails. The answer is shorter than n if fewer are available, and has all of required
// even if these are more.
func (s *Snapshot) Prefer(available, required []string, n int, usePod bool) Preference {
	request, guessed := s.Waiting.Guess(n)
	var choice protocol.PodChoice
	if usePod {
		choice = request.Choice
	}
	must, strange := s.known(required)
	offered, unknown := s.known(
		slices.DeleteFunc(slices.Clone(available), func(id string) bool { return slices.Contains(required, id) }))
	slices.SortStableFunc(offered, func(a, b inventory.Device) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	p := Preference{Guessed: guessed}
	if len(strange) == 0 && n > len(must) {
		var devices []inventory.Device
		if devices, p.Fallback = s.choose(offered, must, n, choice); p.Fallback == "" {
			chosen, _ := s.known(idsOf(devices))
			p.IDs = idsOf(chosen)
			return p
		}
	} else if len(strange) > 0 {
		p.Fallback = "a device that is required is not known"
	}
	if s.Mixed {
		offered = slices.DeleteFunc(offered, s.isOutside)
	}
	all := slices.Concat(idsOf(must), strange, idsOf(offered), unknown)
	p.IDs = all[:min(len(all), max(n, len(must)+len(strange)))]
	return p
}

// rank is 0 for a device that may be chosen, and more for a worse one.
func (s *Snapshot) rank(d inventory.Device) int {
	switch {
	case !d.Healthy:
		return 2
	case s.isOutside(d):
		return 1
	}
	return 0
}

// choose returns n devices, or why it cannot. Those in use outside are chosen only if there
// are too few others, and never on a mixed node.
func (s *Snapshot) choose(offered, must []inventory.Device, n int, c protocol.PodChoice) ([]inventory.Device, string) {
	for worst := range 2 {
		if s.Mixed && worst > 0 {
			break
		}
		free := slices.DeleteFunc(slices.Clone(offered), func(d inventory.Device) bool { return s.rank(d) > worst })
		if len(free)+len(must) < n {
			continue
		}
		if len(c.GPUs) > 0 {
			chosen := slices.DeleteFunc(slices.Clone(free), func(d inventory.Device) bool { return !isOf(d, c.GPUs) })
			if len(chosen)+len(must) >= n {
				return s.pick(chosen, must, n, c)
			}
			must = slices.Concat(must, chosen)
		}
		return s.pick(free, must, n, c)
	}
	return nil, "too few healthy devices are available"
}

// pick returns must and so many of free that they are n.
func (s *Snapshot) pick(free, must []inventory.Device, n int, c protocol.PodChoice) ([]inventory.Device, string) {
	isVF := func(d inventory.Device) bool { return d.VF != nil }
	if slices.ContainsFunc(free, isVF) || slices.ContainsFunc(must, isVF) {
		return pickVFs(free, must, n), ""
	}
	isShare := func(d inventory.Device) bool { return d.Share }
	if slices.ContainsFunc(free, isShare) || slices.ContainsFunc(must, isShare) {
		return pickShares(free, must, n, *cmp.Or(c.Policy, &s.Policy) == key.Binpack), ""
	}
	byGPU := map[int]inventory.Device{}
	q := alloc.Request{N: n, Policy: s.Policy, Sizes: alloc.Off}
	if c.Policy != nil {
		q.Policy = *c.Policy
	}
	for _, d := range must {
		if d.GPU < 0 {
			return nil, "a GPU that is required is not on the node any more"
		}
		byGPU[d.GPU] = d
		q.Free, q.Required = append(q.Free, d.GPU), append(q.Required, d.GPU)
	}
	for _, d := range free {
		if _, again := byGPU[d.GPU]; !again && d.GPU >= 0 {
			byGPU[d.GPU] = d
			q.Free = append(q.Free, d.GPU)
		}
	}
	answer, err := s.picker.Pick(q)
	if err != nil {
		return nil, err.Error()
	}
	picked := make([]inventory.Device, len(answer.GPUs))
	for i, g := range answer.GPUs {
		picked[i] = byGPU[g]
	}
	return picked, ""
}

// pickShares returns must and so many shares of free that they are n: each time one of a GPU
// of which no share is picked yet, if there is one, and among these of the GPU with the most
// free shares, or the fewest if packed is true.
func pickShares(free, must []inventory.Device, n int, packed bool) []inventory.Device {
	picked, left, mine := slices.Clone(must), map[int]int{}, map[int]int{}
	for _, d := range free {
		left[d.GPU]++
	}
	for _, d := range must {
		mine[d.GPU]++
	}
	free = slices.Clone(free)
	for len(picked) < n && len(free) > 0 {
		best := slices.MinFunc(free, func(a, b inventory.Device) int {
			size := cmp.Compare(left[b.GPU], left[a.GPU])
			if packed {
				size = -size
			}
			return cmp.Or(cmp.Compare(mine[a.GPU], mine[b.GPU]), size)
		})
		picked = append(picked, best)
		mine[best.GPU]++
		left[best.GPU]--
		free = slices.DeleteFunc(free, func(d inventory.Device) bool { return d.ID == best.ID })
	}
	return picked
}

// pickVFs returns must and so many virtual functions of free that they are n, on as few GPUs
// as possible and so that GPUs with many free ones keep them: each time the GPU with the
// fewest that are enough, or else the one with the most. GPUs of must go first.
func pickVFs(free, must []inventory.Device, n int) []inventory.Device {
	picked := slices.Clone(must)
	free = slices.DeleteFunc(slices.Clone(free), func(d inventory.Device) bool {
		return slices.ContainsFunc(must, func(m inventory.Device) bool { return m.ID == d.ID })
	})
	for len(picked) < n && len(free) > 0 {
		left := map[int]int{}
		for _, d := range free {
			left[d.GPU]++
		}
		missing := n - len(picked)
		cost := func(d inventory.Device) (fits, isNew int, rest int) {
			if left[d.GPU] < missing {
				fits = 1
			}
			if !slices.ContainsFunc(must, func(m inventory.Device) bool { return m.GPU == d.GPU }) {
				isNew = 1
			}
			rest = left[d.GPU]
			if fits == 1 {
				rest = -rest
			}
			return fits, isNew, rest
		}
		best := slices.MinFunc(free, func(a, b inventory.Device) int {
			aFits, aNew, aRest := cost(a)
			bFits, bNew, bRest := cost(b)
			return cmp.Or(cmp.Compare(aNew, bNew), cmp.Compare(aFits, bFits), cmp.Compare(aRest, bRest))
		}).GPU
		free = slices.DeleteFunc(free, func(d inventory.Device) bool {
			take := d.GPU == best && len(picked) < n
			if take {
				picked = append(picked, d)
			}
			return take
		})
	}
	return picked
}
