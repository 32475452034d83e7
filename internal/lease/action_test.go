// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

var naps = []time.Duration{10, 50, 100, 150, 260, 600, 1000, 1900, 2000, 2100, 5000}

// do makes an op happen.
func (w *world) do(o op) {
	d := &w.docker
	switch o.kind {
	case doStep:
		if g, ok := pick(w.ripe(), o.a); ok {
			w.pass(g)
		}
	case doFinish:
		if g, ok := pick(w.ripe(), o.a); ok {
			w.finish(g.actor)
		}
	case doRun:
		w.order(o)
	case doCollect:
		w.logf("%d collects", w.spawn(o.a%2 == 0, func(a *actor) {
			if _, _, err := a.keeper().Collect(a.ctx); err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, a.ctx.Err()) {
				w.fail("E collect by %d: %v", a.n, err)
			}
		}).n)
	case doReport:
		w.spawn(o.a%2 == 0, func(a *actor) {
			if _, err := a.keeper().Settle(a.ctx); err != nil {
				w.fail("E report by %d: %v", a.n, err)
			}
		})
	case doRelease:
		w.release(o)
	case doKill:
		if a, ok := pick(w.living(), o.a); ok {
			w.logf("kill %d", a.n)
			a.kill()
		}
	case doInterrupt:
		if a, ok := pick(w.living(), o.a); ok {
			w.logf("interrupt %d", a.n)
			a.cancel()
		}
	case doTime:
		w.sleep(naps[int(o.a)%len(naps)] * time.Millisecond)
	case doWork:
		if r, ok := pick(d.calls, o.a); ok && d.up && !d.hung {
			w.work(r)
		}
	case doProcess:
		if o.a%2 == 0 {
			_, p := w.fork(proc{plain: true, gpus: someGPUs(o.b)})
			w.logf("process on %v", p.gpus)
			return
		}
		for _, p := range w.procs {
			if p.plain {
				p.exit()
			}
		}
		w.logf("processes end")
	case doHang:
		w.hang(o.a%3 != 0)
	case doContainerd:
		w.containerdDown, w.containerdHung = o.a%3 == 1, o.a%3 == 2
		w.logf("containerd down %v, hung %v", w.containerdDown, w.containerdHung)
	case doRestart:
		if o.a%2 == 0 {
			w.logf("docker restarts")
			d.restart()
			return
		}
		w.logf("docker stops")
		d.restart()
		d.up = false
	case doLose:
		if w.losable() {
			w.logf("state lost")
			w.lose(o.a%2 == 0)
		}
	case doReboot:
		w.logf("reboot")
		w.reboot()
		synctest.Wait()
	case doSetClock:
		w.skew = time.Duration(int32(o.a)) * time.Second
	default:
		w.contain(o)
	}
}

// contain is do for what happens to containers past the wrapper.
func (w *world) contain(o op) {
	d := &w.docker
	if !d.up || d.hung {
		return
	}
	switch o.kind {
	case doPlain:
		b := &box{gpus: someGPUs(o.a), policy: o.a>>4%4 == 0, privileged: o.a>>6%6 == 0}
		d.add(b)
		if o.b%3 != 0 {
			d.start(b)
		}
		w.logf("plain container %s %s on %v", b.id[60:], b.state, b.gpus)
		return
	case doForge:
		w.forge(o)
		return
	}
	b, ok := pick(d.list, o.a)
	if !ok {
		return
	}
	was := b.state
	switch {
	case o.kind == doEnd && (was == usage.Running || was == usage.Restarting):
		if was == usage.Restarting {
			d.start(b)
		} else {
			d.end(b, false)
		}
	case o.kind == doStop && (was == usage.Running || was == usage.Restarting):
		d.end(b, true)
	case o.kind == doPause && was == usage.Running:
		b.state = usage.Paused
	case o.kind == doPause && was == usage.Paused:
		b.state = usage.Running
	case o.kind == doRemove:
		d.rm(b)
		if f := w.deals[b.label]; f != nil && b.forged {
			f.void = true // its client's is taken for the one that has come and gone
		}
	case o.kind == doPlainStart && !b.alive():
		if was != usage.Created || b.deal != nil && b.deal.losses != w.losses {
			b.deal = nil
		}
		d.start(b)
		w.rival(b.id)
	default:
		return
	}
	w.logf("container %s was %s, is %s", b.id[60:], was, b.state)
	synctest.Wait()
}

// forge makes a container with the label of another user's lease.
func (w *world) forge(o op) {
	leases := w.load().Leases
	if len(leases) == 0 {
		return
	}
	l := leases[int(o.a)%len(leases)]
	b := &box{label: l.ID, forged: true, gpus: someGPUs(o.b)}
	if o.b>>4%4 != 0 {
		b.gpus = slices.DeleteFunc(b.gpus, func(g gpu.BDF) bool { return slices.Contains(l.GPUs, g) })
	}
	w.docker.add(b)
	switch o.b >> 6 % 3 {
	case 0:
		w.docker.start(b)
	case 1:
		w.docker.start(b)
		w.docker.end(b, true)
	}
	if d := w.deals[l.ID]; d != nil && usage.Overlap(b.gpus, l.GPUs) {
		d.void = true
	}
	w.logf("forged container %s %s with lease %s on %v", b.id[60:], b.state, l.ID, b.gpus)
}

func (w *world) living() []*actor {
	var out []*actor
	for _, a := range w.actors {
		if !a.ended && a.proc.alive {
			out = append(out, a)
		}
	}
	return out
}

// order is a user who types metax-docker.
func (w *world) order(o op) {
	bits := o.a
	bit := func(n uint32) uint32 { v := bits % n; bits /= n; return v }
	u := order{
		verb: []string{usage.VerbRun, usage.VerbRun, usage.VerbCreate, usage.VerbStart}[bit(4)], count: 1 + int(bit(3)), share: bit(8) == 0,
		detach: bit(2) == 0, policy: bit(5) == 0, remove: bit(3) == 0, turn: int(bit(4)), box: int(o.b >> 8),
		wait:  []time.Duration{0, 0, 3 * time.Second, time.Minute}[bit(4)],
		delay: time.Duration(o.b%20) * 100 * time.Millisecond, delay2: time.Duration(o.b>>4%20) * 100 * time.Millisecond,
	}
	u.pull = []time.Duration{0, 0, 3 * time.Second, 20 * time.Second}[bit(4)]
	if bit(3) == 0 {
		u.named = someGPUs(1 + o.b%15)
		u.count = len(u.named)
	}
	u.remove = u.remove && !u.policy
	a := w.spawn(o.b%3 == 0, func(a *actor) { a.run(u) })
	w.logf("%d is metax-docker %s --gpus=%d %v share=%v wait=%v detach=%v", a.n, u.verb, u.count, u.named, u.share, u.wait, u.detach)
}

// release is metax-ctk lease release.
func (w *world) release(o op) {
	leases := w.load().Leases
	if len(leases) == 0 {
		return
	}
	l := leases[int(o.a)%len(leases)]
	a := w.spawn(o.b%2 == 0, func(a *actor) {
		a.releases = l.ID
		_, _, err := a.keeper().Release(a.ctx, []string{l.ID}, usage.User{UID: a.proc.uid}, o.b%3 == 0)
		var unknown *UnknownLeaseError
		var force *ForceError
		var queued *QueuedError
		if err != nil && !errors.As(err, &queued) && !errors.As(err, &unknown) && !errors.As(err, &force) && !errors.Is(err, ErrBusy) && !errors.Is(err, a.ctx.Err()) {
			w.fail("E release by %d: %v", a.n, err)
		}
	})
	w.logf("%d releases %s", a.n, l.ID)
}

// hang stops the daemon, or lets it go on: first with what it was asked before.
func (w *world) hang(on bool) {
	d := &w.docker
	if d.up && on == d.hung {
		return
	}
	d.up, d.hung = true, on
	w.logf("docker hung %v", on)
	for _, r := range slices.Clone(d.calls) {
		if !on && !r.due.After(time.Now()) {
			w.work(r)
		}
	}
}

// losable reports whether the state can be lost without losing what nothing else
// knows: a lease that no command line and no container names yet.
func (w *world) losable() bool {
	return !slices.ContainsFunc(w.actors, func(a *actor) bool {
		d := a.deal
		return d != nil && w.deals[d.ID] == d && !d.done && !d.void && (a.proc.lease == "" || !a.proc.alive)
	})
}
