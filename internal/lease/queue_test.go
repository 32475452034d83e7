// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// waiting begins to wait for a GPU as the client, and returns what came of it.
func (b *bench) waiting(t *testing.T, id string, client usage.Client, user usage.User) <-chan error {
	c := wants(1)
	c.Leases[0].ID, c.Leases[0].Client, c.Leases[0].User = id, client, &user
	c.Wait = time.Hour
	done := make(chan error, 1)
	go func() {
		_, err := b.Take(t.Context(), c)
		done <- err
	}()
	synctest.Wait()
	return done
}

var (
	fullNode = lease(bound, func(l *usage.Lease) { l.GPUs = allGPUs })
	ann      = usage.User{UID: 1000, Name: "ann"}
)

// A request marks its ticket every second while it waits, first or not.
func TestMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, stateOf(fullNode), dockerSees(labeled(usage.Running)))
		b.waiting(t, leaseB, clientB, ann)
		b.waiting(t, "cccccccccccc", clientA, ann)
		for range 30 {
			time.Sleep(time.Second)
			s, err := b.memory.Read()
			if err != nil || len(s.Queue) != 2 {
				t.Fatal(s.Queue, err)
			}
			for _, q := range s.Queue {
				if age := b.Uptime() - q.Marked; age > 2100*time.Millisecond {
					t.Errorf("the mark of %s is %s old", q.ID, age)
				}
			}
		}
		b.see(dockerSees())
		time.Sleep(time.Minute)
	})
}

// Who shows no sign of life for five seconds is passed, and keeps the place: a client that is
// stopped, and a ticket that was written by hand.
func TestPassed(t *testing.T) {
	stopped := Ticket{ID: leaseA, Count: 4, Client: clientA, User: &ann, Marked: time.Hour}
	for name, c := range map[string]struct {
		change func(*Ticket)
		after  time.Duration // until others pass
	}{
		"stopped":               {func(*Ticket) {}, 5 * time.Second},
		"by name":               {func(q *Ticket) { q.GPUs = allGPUs }, 5 * time.Second},
		"without a mark":        {func(q *Ticket) { q.Marked = 0 }, 0},
		"marked for the future": {func(q *Ticket) { q.Marked = 1 << 60 }, 0},
		"ended":                 {func(q *Ticket) { q.Ended = &usage.User{} }, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := stopped
			c.change(&q)
			s := stateOf()
			s.Queue = []Ticket{q}
			b := newBench(t, s, dockerSees())
			begin := time.Now()
			if err := <-b.waiting(t, leaseB, clientB, ann); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if d := time.Since(begin); d < c.after || d > c.after+time.Second {
				t.Errorf("%s: passed after %s, want %s", name, d, c.after)
			}
			if len(b.state.Queue) != 1 || b.state.Queue[0].ID != leaseA {
				t.Errorf("%s: it has lost its place: %v", name, b.state.Queue)
			}
		})
	}
}

// A client that goes on after it was stopped is the first again.
func TestPassedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stateOf(fullNode)
		s.Queue = []Ticket{{ID: leaseA, Count: 1, Client: clientA, User: &ann}}
		b := newBench(t, s, dockerSees(labeled(usage.Running)))
		second := b.waiting(t, leaseB, clientB, ann)
		first := b.waiting(t, leaseA, clientA, ann)
		time.Sleep(10 * time.Second)
		select {
		case err := <-second:
			t.Fatalf("served while all are in use: %v", err)
		default:
		}
		b.see(dockerSees())
		var order []string
		for range 2 {
			select {
			case err := <-first:
				order = append(order, "first")
				if err != nil {
					t.Error(err)
				}
			case err := <-second:
				order = append(order, "second")
				if err != nil {
					t.Error(err)
				}
			}
		}
		if diff := cmp.Diff([]string{"first", "second"}, order); diff != "" {
			t.Error(diff)
		}
	})
}

// Root and the user of a request end it; its client learns who did.
func TestEndRequest(t *testing.T) {
	root, bob := usage.User{Name: "root"}, usage.User{UID: 1001, Name: "bob"}
	for name, c := range map[string]struct {
		who   usage.User
		want  string // of the client
		error string // of release
	}{
		"root": {who: root, want: "request bbbbbbbbbbbb was ended by root (metax-ctk lease release)"},
		"own":  {who: ann, want: "request bbbbbbbbbbbb was ended by ann (metax-ctk lease release)"},
		"bob":  {who: bob, error: "request bbbbbbbbbbbb belongs to ann: only that user and root can end it (sudo metax-ctk lease release bbbbbbbbbbbb)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, stateOf(fullNode), dockerSees(labeled(usage.Running)))
			done := b.waiting(t, leaseB, clientB, ann)
			_, ended, err := b.Release(t.Context(), []string{leaseB}, c.who, true)
			if c.error != "" {
				var other *QueuedError
				if !errors.As(err, &other) || err.Error() != c.error || ended != nil {
					t.Errorf("%s: ended %v, error %v", name, ended, err)
				}
				b.see(dockerSees())
				if err := <-done; err != nil {
					t.Errorf("%s: %v", name, err)
				}
				return
			}
			if err != nil || len(ended) != 1 || ended[0].ID != leaseB {
				t.Fatalf("%s: ended %v, error %v", name, ended, err)
			}
			begin := time.Now()
			if err := <-done; err == nil || err.Error() != c.want || errors.Is(err, ErrBusy) {
				t.Errorf("%s: the client says %v, want %q", name, err, c.want)
			}
			if d := time.Since(begin); d > 2*time.Second || len(b.state.Queue) > 0 {
				t.Errorf("%s: after %s the queue is %v", name, d, b.state.Queue)
			}
		})
	}
}

// A ticket that no client marked goes at once. One that a client waits for stays until
// the client has taken note, however often it is ended.
func TestEndRequestTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stateOf(fullNode)
		s.Queue = []Ticket{{ID: "cccccccccccc", Count: 1, Client: clientA}}
		b := newBench(t, s, dockerSees(labeled(usage.Running)))
		done := b.waiting(t, leaseB, clientB, ann)
		for i, ids := range [][]string{{"cccccccccccc", leaseB}, {leaseB}} {
			if _, ended, err := b.Release(t.Context(), ids, usage.User{Name: "root"}, false); err != nil || len(ended) != 2-i {
				t.Fatal(ended, err)
			}
			if s, err := b.memory.Read(); err != nil || len(s.Queue) != 1 || s.Queue[0].ID != leaseB {
				t.Errorf("the queue is %v, %v", s.Queue, err)
			}
		}
		var over *EndedError
		if err := <-done; !errors.As(err, &over) {
			t.Errorf("the client says %v", err)
		}
	})
}

// The label of a container is not a place in the queue, though it says the ID of one.
func TestLabelIsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, stateOf(fullNode), dockerSees(labeled(usage.Running)))
		first := b.waiting(t, leaseB, clientB, ann)
		labeled := labeled(usage.Exited, func(c *usage.Container) { c.ID, c.Lease, c.GPUs = "x", leaseB, allGPUs })
		b.see(dockerSees(labeled))
		c := wants(0, allGPUs...)
		c.Leases[0].ID, c.Leases[0].Client, c.Leases[0].Verb, c.Leases[0].Container = leaseB, clientA, usage.VerbStart, "x"
		c.Own, c.Spare, c.Request = []string{"x"}, []string{"dddddddddddd"}, "dddddddddddd"
		var before *QueueError
		if _, err := b.Take(t.Context(), c); !errors.As(err, &before) {
			t.Errorf("error is %v, want that the first goes before", err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

// A sign of life is of every request, the first too, and begins no state over one that was lost.
func TestMarkOfTheLost(t *testing.T) {
	lost := NewState("boot")
	lost.Lost = "it was damaged"
	b := newBench(t, lost)
	b.markAlive(t.Context(), wants(1))
	if !b.state.New || b.writes > 0 {
		t.Errorf("new: %v, %d writes", b.state.New, b.writes)
	}
	known := stateOf()
	known.Queue = []Ticket{{ID: wants(1).requestID(), Count: 1, Client: clientA}}
	b = newBench(t, known)
	if b.markAlive(t.Context(), wants(1)); b.state.Queue[0].Marked == 0 {
		t.Error("the first request has no sign of life")
	}
}

// No request waits longer than WaitMax, whatever its ticket says.
func TestWaitMax(t *testing.T) {
	const most = 24 * time.Hour
	s := stateOf()
	s.Queue = []Ticket{
		{ID: leaseA, Client: clientA, Until: 365 * 24 * time.Hour},
		{ID: leaseB, Client: clientB, Until: 2 * time.Hour},
		{ID: "cccccccccccc", Client: clientB},
	}
	r := &observed{lives: map[usage.Client]usage.Liveness{clientA: usage.Alive, clientB: usage.Alive}, uptime: time.Hour, waitMax: most}
	want := []time.Duration{time.Hour + most + Grace, 2 * time.Hour, time.Hour + most + Grace}
	for range 2 {
		s.reconcile(r)
		for i, q := range s.Queue {
			if q.Until != want[i] {
				t.Errorf("%s waits until %s, want %s", q.ID, q.Until, want[i])
			}
		}
		r.uptime += time.Minute
	}
	if len(r.clamped) != 2 || r.clamped[0].ID != leaseA {
		t.Errorf("clamped %v", r.clamped)
	}
	r.uptime = want[0] + 1
	if s.reconcile(r); len(s.Queue) > 0 {
		t.Errorf("left %v", s.Queue)
	}
}

// Looks that are older than any wait for the lock are taken again.
func TestOldLooks(t *testing.T) {
	b := newBench(t, stateOf(), dockerSees())
	uptime, looks := time.Hour, 0
	b.Uptime = func() time.Duration { return uptime }
	sources := b.Sources
	b.Sources = func(s State) []Source { looks++; return sources(s) }
	b.meanwhile = func(*State) {
		uptime += time.Minute
		b.looks = []Look{dockerSees(labeled(usage.Running, unlabeled))}
	}
	got, err := b.Take(t.Context(), wants(1))
	if err != nil || looks != 2 {
		t.Fatal(looks, err)
	}
	if diff := cmp.Diff(gpus(1), got.Leases[0].GPUs); diff != "" {
		t.Error(diff)
	}
}

// The client that writes the clamped ticket is told, even if it has to wait first.
func TestWaitMaxIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stateOf(fullNode)
		s.Queue = []Ticket{{ID: leaseA, Count: 1, Client: clientA, Until: 365 * 24 * time.Hour}}
		b := newBench(t, s, dockerSees(labeled(usage.Running)))
		b.WaitMax = 24 * time.Hour
		var told []string
		b.Clamped = func(all []Ticket) {
			for _, q := range all {
				told = append(told, q.ID)
			}
		}
		done := b.waiting(t, leaseB, clientB, ann)
		time.Sleep(5 * time.Second)
		b.see(dockerSees())
		if err := <-done; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{leaseA}, told); diff != "" {
			t.Error(diff)
		}
	})
}
