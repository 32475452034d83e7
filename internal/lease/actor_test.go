// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// gate is where an actor stands until the scheduler lets it go on.
type gate struct {
	actor *actor
	at    string
	open  chan struct{}
	ready func() bool
}

// actor is a process of metax-docker or metax-ctk.
type actor struct {
	w      *world
	n      int
	root   bool
	client usage.Client
	proc   *proc
	ctx    context.Context
	cancel context.CancelFunc
	dead   chan struct{}
	ended  bool
	// Where the next call of Liveness or Uptime stops.
	stopLife, stopUptime bool
	lives                int
	deal                 *deal
	releases             string // a lease
}

// spawn begins an actor; what it does runs from gate to gate.
func (w *world) spawn(root bool, do func(a *actor)) *actor {
	a := &actor{w: w, n: len(w.actors), root: root, dead: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.client, a.proc = w.fork(proc{uid: uint32(1000 + len(w.actors)%2)})
	w.actors = append(w.actors, a)
	go func() {
		defer func() { a.ended = true }()
		a.gate("begin")
		do(a)
		a.gate("exit")
		a.end()
	}()
	return a
}

// kill is SIGKILL.
func (a *actor) kill() {
	if a.ended || !a.proc.alive {
		return
	}
	if d := a.deal; d != nil && d.rivals && !d.done {
		d.void = true
	}
	if a.w.locked == a {
		a.w.locked = nil
	}
	a.end()
}

// end takes the process away, with looks that nobody waits for any more.
func (a *actor) end() {
	a.proc.exit()
	close(a.dead)
	a.cancel()
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	a.w.gates = slices.DeleteFunc(a.w.gates, func(g *gate) bool { return g.actor == a })
}

// stand waits at a gate and reports whether the actor lives.
func (a *actor) stand(at string, ready func() bool) bool {
	select {
	case <-a.dead:
		return false
	default:
	}
	g := &gate{a, at, make(chan struct{}), ready}
	a.w.mu.Lock()
	a.w.gates = append(a.w.gates, g)
	a.w.mu.Unlock()
	select {
	case <-g.open:
		return true
	case <-a.dead:
		return false
	}
}

// gate is stand for the actor's own goroutine, which ends here if it is dead.
func (a *actor) gate(at string) { a.gateWhen(at, nil) }

func (a *actor) gateWhen(at string, ready func() bool) {
	if !a.stand(at, ready) {
		runtime.Goexit()
	}
}

func (a *actor) keeper() *Keeper {
	return &Keeper{
		Store: store{a}, LeaseID: a.leaseID, Liveness: a.life, Uptime: a.uptime, Sources: a.sources,
		Now: func() time.Time { return time.Now().Add(a.w.skew) },
	}
}

func (a *actor) leaseID(c usage.Client, n int) string { return usage.LeaseID(a.w.boot, "/", c, n) }

func (a *actor) life(c usage.Client) usage.Liveness {
	if a.lives++; a.stopLife || a.lives%5 == 0 {
		a.stopLife = false
		a.gate("life")
	}
	return a.w.life(c)
}

func (a *actor) uptime() time.Duration {
	if a.stopUptime {
		a.stopUptime = false
		a.gate("uptime")
	}
	a.w.mu.Lock() // a timer may have woken it, and not the scheduler
	defer a.w.mu.Unlock()
	return a.w.uptime()
}

// store is the state file as the actor works on it.
type store struct{ *actor }

func (s store) Read() (State, error) {
	s.gate("read")
	state := s.w.load()
	s.stopLife = true
	return state, nil
}

func (s store) Update(ctx context.Context, change func(*State) error) error {
	w := s.w
	s.gateWhen("lock", func() bool { return w.locked == nil })
	if err := ctx.Err(); err != nil {
		return err
	}
	w.locked = s.actor
	state := w.load()
	before := w.load()
	err := change(&state)
	if err == nil {
		s.gate("write")
		state.New, state.Lost = false, ""
		w.save(state)
		w.written(s.actor, before, state)
	}
	w.locked = nil
	s.gate("unlocked")
	return err
}

// run is metax-docker run, create or start.
func (a *actor) run(o order) {
	w := a.w
	l := usage.Lease{
		ID: a.leaseID(a.client, 0), Verb: o.verb, Engine: "docker", Endpoint: sock,
		Client: a.client, User: &usage.User{UID: a.proc.uid},
	}
	c := Claim{Count: o.count, Share: o.share, Wait: o.wait}
	if o.verb == usage.VerbStart {
		a.gate("inspect")
		if len(w.docker.list) == 0 || !w.docker.up || w.docker.hung {
			return
		}
		b := w.docker.list[o.box%len(w.docker.list)]
		if len(b.gpus) == 0 {
			return
		}
		if usage.ValidID(b.label) {
			c.Spare, l.ID = []string{l.ID}, b.label
		}
		l.Container, l.Started = b.id, fmt.Sprint(b.started)
		c.Own, o.named = []string{b.id}, b.gpus
	}
	c.GPUs = o.named
	c.Leases = []usage.Lease{l}
	c.Choose = o.choose
	a.deal = &deal{Lease: l, actor: a, share: o.share, box: l.Container}
	taken, err := a.keeper().Take(a.ctx, c)
	if err != nil {
		var ended *EndedError
		if !errors.Is(err, ErrBusy) && !errors.As(err, &ended) && !errors.Is(err, context.Canceled) {
			w.fail("E take by %d: %v", a.n, err)
		}
		return
	}
	w.looked(a, taken)
	a.exec(o)
}

// exec is what docker's client does from here on, which is the same process.
func (a *actor) exec(o order) {
	d := a.deal
	a.gate("exec")
	id := d.Container
	if o.verb != usage.VerbStart {
		a.proc.lease, a.proc.gpus = d.ID, d.GPUs
		a.sleep(o.pull)
		a.gate("create")
		b := a.ask(&call{make: &box{label: d.ID, gpus: d.GPUs, policy: o.policy, remove: o.remove}}, o.delay)
		if b == nil || o.verb == usage.VerbCreate {
			return
		}
		id = b.id
	}
	a.gate("start")
	b := a.ask(&call{id: id}, o.delay2)
	if b == nil || o.detach || b.stopped == nil {
		return
	}
	select {
	case <-b.stopped:
	case <-a.dead:
	}
}

// sleep is what a client does while an image is on its way.
func (a *actor) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.dead:
		runtime.Goexit()
	}
}

// ask sends a request and waits for the answer.
func (a *actor) ask(r *call, delay time.Duration) *box {
	if !a.w.docker.up {
		return nil
	}
	r.deal, r.done, r.due = a.deal, make(chan *box, 1), time.Now().Add(delay)
	a.w.docker.calls = append(a.w.docker.calls, r)
	select {
	case b := <-r.done:
		return b
	case <-a.dead:
		runtime.Goexit()
	}
	return nil
}

// order is what a user types.
type order struct {
	verb                          string
	count                         int
	named                         []gpu.BDF
	share, detach, policy, remove bool
	box                           int
	turn                          int
	wait, pull, delay, delay2     time.Duration
}

// choose is a picker: the first GPUs that are free, from some GPU on.
func (o order) choose(holders []usage.Holder, reserved []gpu.BDF) ([][]gpu.BDF, error) {
	if o.named != nil {
		for i, g := range allGPUs {
			if h := usage.Held(holders, g); slices.Contains(o.named, g) && len(h) > 0 && !o.share {
				return nil, &HeldError{GPU: i, Holder: h[0]}
			}
		}
		return [][]gpu.BDF{slices.Clone(o.named)}, nil
	}
	var free []gpu.BDF
	for i := range allGPUs {
		g := allGPUs[(i+o.turn)%len(allGPUs)]
		if o.share || len(usage.Held(holders, g)) == 0 && !slices.Contains(reserved, g) {
			free = append(free, g)
		}
	}
	if len(free) < o.count {
		return nil, &FullError{Want: o.count, Free: len(free), Of: len(allGPUs)}
	}
	return [][]gpu.BDF{free[:o.count]}, nil
}
