// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// written judges a write of the state: before and after, under the lock.
func (w *world) written(a *actor, before, after State) {
	for _, l := range after.Leases {
		if a.deal == nil || l.Client != a.client || w.deals[l.ID] == a.deal {
			continue
		}
		a.deal.Lease, a.deal.losses = l, w.losses
		w.deals[l.ID] = a.deal
		if b := w.docker.box(a.deal.box); b != nil && b.alive() {
			a.deal.rivals = true // it runs already, and may end before it is started again
		}
		w.logf("%d takes %v under %s for %s %.12s", a.n, l.GPUs, l.ID, l.Verb, l.Container)
		w.queued(a, before, l)
	}
	if d := w.deals[a.releases]; d != nil && after.Lease(a.releases) == nil {
		d.void = true
	}
	w.exclusive(after)
}

// queued is I6: who came first is served first, unless the time it waits is over or it shows
// no sign of life. To start a container that has its GPUs already nobody queues;
// TestStartPassesQueue has those that have not.
func (w *world) queued(a *actor, before State, l usage.Lease) {
	if a.deal.share || l.Verb == usage.VerbStart {
		return
	}
	for _, t := range before.Queue {
		if t.ID == l.ID {
			return
		}
		if w.life(t.Client) == usage.Alive && t.Waits(w.uptime()) && t.Until >= w.uptime() && (len(t.GPUs) == 0 || usage.Overlap(t.GPUs, l.GPUs)) {
			w.fail("I6 %d is served before ticket %s of %d", a.n, t.ID, t.Client.PID)
		}
	}
}

// exclusive is I2: no two leases have one GPU, but for those of one container.
func (w *world) exclusive(s State) {
	for i, l := range s.Leases {
		for _, m := range s.Leases[:i] {
			if usage.Overlap(l.GPUs, m.GPUs) && w.strict(l) && w.strict(m) && (w.boxOf(l) == "" || w.boxOf(l) != w.boxOf(m)) {
				w.fail("I2 leases %s and %s overlap", m.ID, l.ID)
			}
		}
	}
}

// boxOf is the ID of the container that a lease is for, if there is one.
func (w *world) boxOf(l usage.Lease) string {
	if d := w.deals[l.ID]; d != nil && d.box != "" {
		return d.box
	}
	return l.Container
}

// strict reports whether a lease must have its GPUs for itself: everybody went the
// right way about it.
func (w *world) strict(l usage.Lease) bool {
	d := w.deals[l.ID]
	if d == nil || d.share || d.void {
		return false
	}
	id := l.Container
	if d.made {
		id = d.box
	}
	if b := w.docker.box(id); b != nil && (b.deal == nil || b.deal.void || b.deal.share) {
		return false
	}
	// A client outlives its container, and where the state is lost it counts as one without:
	// that errs on the right side.
	b := w.docker.box(d.box)
	return !d.made || b != nil && b.keeps()
}

// looked judges a claim by what was seen for it: whatever lived then keeps its GPUs.
func (w *world) looked(a *actor, t Taken) {
	if a.deal.share {
		return
	}
	answers := slices.ContainsFunc(t.Looks, func(l Look) bool { return l.Engine == "docker" && l.sawEverything() })
	for _, look := range t.Looks {
		if look.Engine == "containerd" && answers {
			continue // docker's word is later or better
		}
		for _, c := range look.Containers {
			// That lease was not there before, so that one with its label was late.
			late := w.late(c) || c.State == usage.Created && c.Lease == a.deal.ID
			if c.ID != a.deal.Container && c.Holds() && !late && usage.Overlap(c.GPUs, a.deal.GPUs) {
				w.fail("I1 %d took a GPU of container %.64s that it saw %s", a.n, c.ID, c.State)
			}
		}
		if look.Lists.Instead && usage.Overlap(look.Lists.InUse, a.deal.GPUs) {
			w.fail("I1 %d took a GPU whose list it saw in use", a.n)
		}
		for _, p := range look.Processes {
			if (p.Container == "" || p.Container != a.deal.Container) && usage.Overlap(p.GPUs, a.deal.GPUs) {
				w.fail("I1 %d took a GPU of process %d that it saw", a.n, p.PID)
			}
		}
	}
}

func (w *world) late(c usage.Container) bool {
	s := w.load()
	return s.madeAfterExpiry(c)
}

// check judges the world as it is.
func (w *world) check() {
	for i, b := range w.docker.list {
		for _, c := range w.docker.list[:i] {
			if b.alive() && c.alive() && b.strict() && c.strict() && usage.Overlap(b.gpus, c.gpus) {
				w.fail("I1 containers %s and %s run on one GPU", b.id, c.id)
			}
		}
	}
	s := w.load()
	if !s.New {
		w.pending(s)
	}
	if w.docker.up && !w.docker.hung || !s.New {
		w.kept(s)
	}
}

func (b *box) strict() bool { return b.deal != nil && !b.deal.share && !b.deal.void }

// pending is I7: a lease without a container stays while its client lives.
func (w *world) pending(s State) {
	for _, a := range w.actors {
		d := a.deal
		if d == nil || w.deals[d.ID] != d || d.done || d.made || d.void || d.losses != w.losses || !a.proc.alive {
			continue
		}
		if gone := d.Verb == usage.VerbStart && w.docker.box(d.Container) == nil; !gone && s.Lease(d.ID) == nil {
			w.fail("I7 lease %s of %d is lost", d.ID, a.n)
		}
	}
}

// kept is I4: the GPUs of every container that lives, or may yet, are held.
func (w *world) kept(s State) {
	holders := s.holdersIn(w.glance(s), nil)
	for _, b := range w.docker.list {
		d := b.deal
		if d == nil || d.void {
			continue
		}
		if !b.keeps() || b.state == usage.Created && (d.losses != w.losses || d.share) {
			continue
		}
		for _, g := range b.gpus {
			if len(usage.Held(holders, g)) == 0 {
				w.fail("I4 nobody holds GPU %s of container %s, which is %s", g, b.id, b.state)
			}
		}
	}
}

// glance is a round in which nothing happens meanwhile.
func (w *world) glance(s State) *observed {
	r := &observed{before: s, lives: map[usage.Client]usage.Liveness{}, begin: w.uptime(), uptime: w.uptime()}
	docker := Look{Engine: "docker", Endpoint: sock, Err: errLate}
	if w.docker.up && !w.docker.hung {
		docker.Err, docker.Containers = nil, w.docker.containers()
	}
	r.looks = []Look{docker}
	if s.New {
		s.rebuild(r, r.mergedContainers())
	}
	return r
}

// single is I8: once no client lives and the engines have answered, a container has
// one lease at most. That of a forged label may have less than the container, and
// another of the container beside it.
func (w *world) single() {
	s := w.load()
	for i, l := range s.Leases {
		for _, m := range s.Leases[:i] {
			if l.Bound && m.Bound && l.Container == m.Container && slices.Equal(l.GPUs, m.GPUs) {
				w.fail("I8 leases %s and %s of container %s", m.ID, l.ID, l.Container)
			}
		}
	}
}

// quiet is I3: once nothing is left that could hold a GPU, nothing is left in the
// state, and every GPU can be had.
func (w *world) quiet(step func(*actor)) {
	for _, a := range w.actors {
		a.kill()
	}
	for _, p := range w.procs {
		p.exit()
	}
	d := &w.docker
	d.up, d.hung, d.calls, w.containerdDown, w.containerdHung = true, false, nil, false, false
	collect := func(a *actor) {
		if _, _, err := a.keeper().Collect(a.ctx); err != nil {
			w.fail("E collect: %v", err)
		}
	}
	step(w.spawn(false, collect))
	w.single()
	for _, b := range slices.Clone(d.list) {
		d.rm(b)
	}
	step(w.spawn(false, collect))
	for _, l := range w.load().Leases {
		if l.Gone == 0 {
			w.fail("I3 lease %s stays without a container: %+v", l.ID, l)
		}
	}
	w.nap(2 * time.Second)
	step(w.spawn(false, collect))
	s := w.load()
	if len(s.Leases) > 0 || len(s.Queue) > 0 || len(s.Seen) > 0 {
		w.fail("I3 what is left: %s", w.file)
	}
	got := false
	step(w.spawn(false, func(a *actor) {
		o := order{verb: usage.VerbRun, count: len(allGPUs)}
		a.deal = &deal{actor: a}
		l := usage.Lease{ID: a.leaseID(a.client, 0), Verb: usage.VerbRun, Engine: "docker", Endpoint: sock, Client: a.client}
		taken, err := a.keeper().Take(a.ctx, Claim{Leases: []usage.Lease{l}, Choose: o.choose, Count: o.count})
		got = err == nil && len(taken.Leases[0].GPUs) == len(allGPUs)
	}))
	if !got {
		w.fail("I3 not every GPU can be had")
	}
}
