// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// HostUsersOf returns the users of each GPU of a host, each once, sorted, and those of its
// slices, by the UUIDs of slices: the containers and leases among the holders.
func HostUsersOf(n gpu.Node, holders []usage.Holder) (users map[gpu.BDF][]User, ofSlices map[string]User) {
	users, ofSlices = map[gpu.BDF][]User{}, map[string]User{}
	for _, g := range n.GPUs {
		var of []User
		for _, h := range usage.Held(holders, g.BDF) {
			if user, ok := hostUser(h); ok {
				of = append(of, user)
			}
		}
		slices.SortFunc(of, User.compare)
		if len(of) > 0 {
			users[g.BDF] = slices.Compact(of)
		}
		for _, s := range g.Slices {
			if held := usage.HeldSlice(holders, g.BDF, s.Name()); held != nil {
				ofSlices[s.UUID], _ = hostUser(*held)
			}
		}
	}
	return users, ofSlices
}

// hostUser returns a holder as a user, and false for one that is neither a container nor a
// lease. A container without a name has its ID for it.
func hostUser(h usage.Holder) (User, bool) {
	u := User{OnHost: true}
	if l := h.Lease; l != nil {
		u.Lease, u.Engine, u.ContainerID, u.Container = l.ID, l.Engine, l.Container, usage.ShortID(l.Container)
		if l.User != nil {
			u.Owner = cmp.Or(l.User.Name, strconv.FormatUint(uint64(l.User.UID), 10))
		}
	}
	if c := h.Container; c != nil {
		u.Engine, u.ContainerID, u.Image = c.Engine, c.ID, c.Image
		u.Container = cmp.Or(c.Name, usage.ShortID(c.ID))
	}
	return u, h.Lease != nil || h.Container != nil
}

// compare orders users by their labels, and then by what else is known of them.
func (u User) compare(other User) int {
	return slices.Compare(append(u.labelValues(), u.infoValues()...), append(other.labelValues(), other.infoValues()...))
}

// infoValues are the values of those labels of Container that follow the ones of the GPU.
func (u User) infoValues() []string {
	return []string{u.Container, u.ContainerID, u.Engine, u.Image, u.Lease, u.Owner}
}

// sendContainers sends a series for each user of a GPU of a host, with what is known of it.
func (s Snapshot) sendContainers(send send, g gpu.GPU, name []string) {
	users := s.Users[g.BDF]
	for _, u := range users[:min(len(users), maxUsers)] {
		if u.OnHost {
			send(Container, 1, append(name[:3:3], u.infoValues()...)...)
		}
	}
}
