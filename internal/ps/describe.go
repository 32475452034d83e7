// SPDX-License-Identifier: Apache-2.0

package ps

import (
	"cmp"
	"errors"
	"os/user"
	"slices"
	"strconv"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Describe converts a report about the node into the document of metax-ctk ps. The readings
// show load of which the report does not know the user; nil if there are none.
func Describe(node gpu.Node, report lease.Report, readings []gpu.Reading) Occupancy {
	d := describer{node, map[uint32]string{}}
	o := Occupancy{
		APIVersion: lease.APIVersion, Kind: OccupancyKind, Summary: summarize(node, report.Holders),
		GPUs:       make([]GPU, 0, len(node.GPUs)),
		Containers: d.containers(report.Looks), Queue: d.queue(report), Sources: Sources(report.Looks),
		Lost: report.State.Lost,
	}
	for _, g := range node.GPUs {
		row := GPU{Index: g.Index, UUID: g.UUID, BDF: g.BDF, Healthy: g.Healthy, Parts: g.Parts(), Holders: []Holder{}}
		for _, h := range usage.Held(report.Holders, g.BDF) {
			row.Holders = append(row.Holders, d.holder(h, g.BDF))
		}
		if len(row.Holders) == 0 && row.Healthy && row.Parts == "" && loaded(readings, g.BDF) {
			row.UserUnknown = true
			o.Summary.Free--
			o.Summary.UserUnknown++
		}
		o.GPUs = append(o.GPUs, row)
	}
	return o
}

// loaded reports whether a GPU has a reading that shows load.
func loaded(readings []gpu.Reading, bdf gpu.BDF) bool {
	return slices.ContainsFunc(readings, func(r gpu.Reading) bool { return r.BDF == bdf && r.Loaded() })
}

func summarize(node gpu.Node, holders []usage.Holder) Summary {
	s := Summary{GPUs: len(node.GPUs)}
	whole := node.Healthy()
	for _, g := range node.GPUs {
		held := usage.Held(holders, g.BDF)
		switch {
		case held != nil:
			s.InUse++
		case slices.Contains(whole, g.Index):
			s.Free++
		}
	}
	return s
}

// DescribeLeases converts the leases of a report into the document of metax-ctk lease
// list.
func DescribeLeases(node gpu.Node, report lease.Report) Leases {
	d := describer{node, map[uint32]string{}}
	out := Leases{
		APIVersion: lease.APIVersion, Kind: LeasesKind, Summary: summarize(node, report.Holders), Leases: []Lease{},
		Queue: d.queue(report), Sources: Sources(report.Looks), Lost: report.State.Lost,
	}
	for _, h := range report.Holders {
		if h.Lease != nil {
			l := d.lease(*h.Lease, h.State())
			if h.Container != nil {
				l.Container, l.Name = h.Container.ID, h.Container.Name
			}
			out.Leases = append(out.Leases, l)
		}
	}
	out.Leases = append(out.Leases, DescribeClosed(node, report.Closed)...)
	slices.SortFunc(out.Leases, func(a, b Lease) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// DescribeClosed converts leases that are over.
func DescribeClosed(node gpu.Node, closed []lease.Closed) []Lease {
	d := describer{node, map[uint32]string{}}
	out := []Lease{}
	for _, c := range closed {
		l := d.lease(c.Lease, Over)
		l.Why = c.Why
		out = append(out, l)
	}
	return out
}

// Sources is the result of each query.
func Sources(looks []lease.Look) []Source {
	out := []Source{}
	for _, l := range looks {
		s := Source{Engine: l.Engine, Endpoint: l.Endpoint, Status: OK}
		// At least our own processes can always be seen.
		seen := len(l.Containers) > 0 || l.Engine == usage.Processes
		switch {
		case errors.Is(l.Err, usage.ErrAbsent):
			s.Status = Absent
		case l.Err != nil && !seen:
			s.Status = Failed
		case l.Err != nil || l.Partial:
			s.Status = Partial
		}
		if l.Err != nil {
			s.Message = terminal.Message(l.Err.Error())
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return out
}

// describer converts values for a node; users caches the names of users.
type describer struct {
	node  gpu.Node
	users map[uint32]string
}

func (d describer) holder(h usage.Holder, bdf gpu.BDF) Holder {
	out := Holder{State: h.State(), Sources: []string{}, Processes: []Process{}}
	if h.Lease != nil {
		l := d.lease(*h.Lease, out.State)
		out.Lease, out.User, out.Since = &l, l.User, l.Since
		if slices.Contains(h.Lease.GPUs, bdf) {
			out.Sources = append(out.Sources, usage.FromLease)
		}
	}
	if h.Container != nil {
		c := d.container(*h.Container)
		out.Container = &c
		// A privileged container has the GPUs of its lease, if it has one.
		if slices.Contains(h.Container.GPUs, bdf) || (h.Container.Privileged && len(out.Sources) > 0) {
			out.Sources = append(out.Sources, usage.FromContainer)
		}
		if h.Lease == nil {
			out.Since = c.Created
		}
	}
	for _, p := range h.Processes {
		if slices.Contains(p.GPUs, bdf) {
			out.Processes = append(out.Processes, Process{p.PID, p.Command, d.userName(p.UID)})
		}
	}
	if len(out.Processes) > 0 {
		out.Sources = append(out.Sources, usage.FromProcess)
		if h.Lease == nil {
			out.User = out.Processes[0].User
		}
	}
	return out
}

func (d describer) lease(l usage.Lease, state string) Lease {
	out := Lease{
		ID: l.ID, GPUs: d.indices(l.GPUs), BDFs: l.GPUs, Slices: l.Slices, State: state, Shared: l.Shared, Verb: l.Verb,
		Engine:   l.Engine,
		Endpoint: l.Endpoint, Container: l.Container, PID: l.Client.PID, User: d.nameOf(l.User), Since: l.Since,
	}
	if l.User != nil {
		out.UID = &l.User.UID
	}
	return out
}

func (d describer) container(c usage.Container) Container {
	return Container{
		Engine: c.Engine, Namespace: c.Namespace, ID: c.ID, Name: c.Name, Image: c.Image, Lease: c.Lease,
		GPUs: d.indices(c.GPUs), Slices: c.Slices, Privileged: c.Privileged, Ignored: c.Ignored, State: c.State,
		Created: c.Created,
	}
}

// containers are the containers that have GPUs, name a lease or only ask for GPUs. One that
// both docker and containerd list is docker's.
func (d describer) containers(looks []lease.Look) []Container {
	var found []usage.Container
	for _, l := range looks {
		found = append(found, l.Containers...)
	}
	slices.SortStableFunc(found, func(a, b usage.Container) int {
		return cmp.Or(cmp.Compare(a.Key(), b.Key()), -cmp.Compare(a.Engine, b.Engine))
	})
	found = slices.CompactFunc(found, func(a, b usage.Container) bool { return a.Key() == b.Key() })
	out := []Container{}
	for _, c := range found {
		if len(c.GPUs) > 0 || c.Lease != "" || c.Ignored != "" {
			out = append(out, d.container(c))
		}
	}
	return out
}

func (d describer) queue(r lease.Report) []Waiting {
	out := []Waiting{}
	inLine := 0
	for _, t := range r.State.Queue {
		w := Waiting{
			ID: t.ID, Count: t.Count, GPUs: d.indices(t.GPUs), State: InLine, PID: t.Client.PID, User: d.nameOf(t.User),
			Since:   t.Since,
			EndedBy: d.nameOf(t.Ended), WaitedSeconds: max(int64(r.Now.Sub(t.Since)/time.Second), 0),
		}
		switch {
		case t.Ended != nil:
			w.State = Ended
		case !t.Waits(r.Uptime):
			w.State = Silent
		default:
			inLine++
			w.Position = inLine
		}
		out = append(out, w)
	}
	return out
}

// indices are those of the GPUs that the node still has.
func (d describer) indices(bdfs []gpu.BDF) []int {
	out := []int{}
	for _, bdf := range bdfs {
		if g, ok := d.node.Lookup(bdf); ok {
			out = append(out, g.Index)
		}
	}
	return out
}

func (d describer) nameOf(u *usage.User) string {
	switch {
	case u == nil:
		return ""
	case u.Name != "":
		return u.Name
	}
	return d.userName(u.UID)
}

// userName is the name of a user, or the number if there is no name.
func (d describer) userName(uid uint32) string {
	name, ok := d.users[uid]
	if !ok {
		name = strconv.FormatUint(uint64(uid), 10)
		if account, err := user.LookupId(name); err == nil {
			name = account.Username
		}
		d.users[uid] = name
	}
	return name
}
