// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

func TestTake(t *testing.T) {
	anyTwo := Ticket{ID: leaseA, Count: 2, Client: clientA, Marked: time.Hour}
	first := Ticket{ID: leaseA, Count: 1, GPUs: gpus(0), Client: clientA, Marked: time.Hour}
	share := func(c Claim) Claim {
		c.Share = true
		c.Choose = order{count: c.Count, named: c.GPUs, share: true}.choose
		return c
	}
	own := func(c Claim) Claim {
		c.Own = []string{boxA}
		c.Leases[0].Verb, c.Leases[0].Container = usage.VerbStart, boxA
		return c
	}
	two := wants(1)
	two.Leases = append(two.Leases, usage.Lease{ID: "cccccccccccc", Client: clientB})
	two.Choose = func([]usage.Holder, []gpu.BDF) ([][]gpu.BDF, error) { return [][]gpu.BDF{gpus(3, 1), gpus(2)}, nil }
	for name, c := range map[string]struct {
		leases []usage.Lease
		queue  []Ticket
		looks  []Look
		claim  Claim
		want   [][]gpu.BDF // by lease
		err    error
	}{
		"the first that are free":        {claim: wants(2), want: [][]gpu.BDF{gpus(0, 1)}},
		"past a lease":                   {leases: []usage.Lease{lease()}, claim: wants(2), want: [][]gpu.BDF{gpus(1, 2)}},
		"past a container":               {looks: []Look{dockerSees(labeled(usage.Running, unlabeled))}, claim: wants(1), want: [][]gpu.BDF{gpus(1)}},
		"past a process":                 {looks: []Look{procs(usage.Process{GPUs: gpus(0)})}, claim: wants(1), want: [][]gpu.BDF{gpus(1)}},
		"sorted, and several":            {claim: two, want: [][]gpu.BDF{gpus(1, 3), gpus(2)}},
		"too many":                       {leases: []usage.Lease{lease()}, claim: wants(4), err: &FullError{Want: 4, Free: 3, Of: 4}},
		"by name":                        {leases: []usage.Lease{lease()}, claim: wants(0, gpus(2)...), want: [][]gpu.BDF{gpus(2)}},
		"by name, and held":              {leases: []usage.Lease{lease()}, claim: wants(0, gpus(0)...), err: ErrBusy},
		"by name, and shared":            {leases: []usage.Lease{lease()}, claim: share(wants(0, gpus(0)...)), want: [][]gpu.BDF{gpus(0)}},
		"any, behind any":                {queue: []Ticket{anyTwo}, claim: wants(1), err: &QueueError{Waiting: 1}},
		"by name, behind any":            {queue: []Ticket{anyTwo}, claim: wants(0, gpus(3)...), err: &QueueError{Waiting: 1}},
		"any, behind by name":            {queue: []Ticket{first}, claim: wants(2), want: [][]gpu.BDF{gpus(1, 2)}},
		"too many, behind by name":       {queue: []Ticket{first}, claim: wants(4), err: &FullError{Want: 4, Free: 3, Of: 4}},
		"by name, behind another name":   {queue: []Ticket{first}, claim: wants(0, gpus(1)...), want: [][]gpu.BDF{gpus(1)}},
		"by name, behind the same":       {queue: []Ticket{first}, claim: wants(0, gpus(0, 1)...), err: &QueueError{Waiting: 1}},
		"shared, behind all":             {queue: []Ticket{anyTwo}, claim: share(wants(1)), want: [][]gpu.BDF{gpus(0)}},
		"before those who came later":    {queue: []Ticket{{ID: leaseB, Client: clientB, Count: 1}, anyTwo}, claim: wants(1), want: [][]gpu.BDF{gpus(0)}},
		"behind the dead":                {queue: []Ticket{{ID: leaseA, Count: 2, Client: usage.Client{PID: 6, PIDNamespace: 1}}}, claim: wants(1), want: [][]gpu.BDF{gpus(0)}},
		"start: of what holds its GPUs":  {leases: []usage.Lease{lease(bound)}, looks: []Look{dockerSees(labeled(usage.Created))}, claim: own(wants(0, gpus(0)...)), want: [][]gpu.BDF{gpus(0)}},
		"start: of a plain container":    {looks: []Look{dockerSees(labeled(usage.Created, unlabeled))}, claim: own(wants(0, gpus(0)...)), want: [][]gpu.BDF{gpus(0)}},
		"start: while docker is unsure":  {leases: []usage.Lease{lease(bound)}, looks: []Look{dockerLate}, claim: own(wants(0, gpus(0)...)), want: [][]gpu.BDF{gpus(0)}},
		"start: of what others have now": {leases: []usage.Lease{lease()}, looks: []Look{dockerSees(labeled(usage.Exited, unlabeled))}, claim: own(wants(0, gpus(0)...)), err: ErrBusy},
	} {
		s := stateOf(c.leases...)
		s.Queue = c.queue
		if c.looks == nil {
			c.looks = []Look{dockerSees()}
		}
		b := newBench(t, s, c.looks...)
		b.lives[usage.Client{PID: 6, PIDNamespace: 1}] = usage.Ended
		taken, err := b.Take(t.Context(), c.claim)
		var got [][]gpu.BDF
		for i, l := range taken.Leases {
			got = append(got, l.GPUs)
			if kept := b.state.Lease(l.ID); kept == nil || kept.Rev != 1 || l.ID != c.claim.Leases[i].ID {
				t.Errorf("%s: lease is %v, in the state %v", name, l, kept)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (err == nil) != (c.err == nil) || c.err != nil && !errors.Is(err, c.err) && err.Error() != c.err.Error() {
			t.Errorf("%s: error is %v, want %v", name, err, c.err)
		}
		if i := b.state.ticketIndex(leaseB); i >= 0 {
			t.Errorf("%s: it still waits: %v", name, b.state.Queue)
		}
	}
}

// Waiters stand in the order in which they came, and each is told its place.
func TestTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, stateOf(lease(bound, func(l *usage.Lease) { l.GPUs = gpus(0, 1, 2) })), dockerSees(labeled(usage.Running)))
		var order []string
		told := map[string][]int{} // places, without repetitions
		var mu sync.Mutex
		b.lives = map[usage.Client]usage.Liveness{} // nobody is seen to end
		wait := func(id string, client usage.Client, count int) {
			c := wants(count)
			c.Leases = []usage.Lease{{ID: id, Client: client, Engine: "docker", Endpoint: sock}}
			c.Wait, c.Waiting = time.Hour, func(p Progress) {
				mu.Lock()
				defer mu.Unlock()
				if told[id] = slices.Compact(append(told[id], p.Before)); p.Err == nil || len(p.Holders) != 1 {
					t.Errorf("%s is told %+v", id, p)
				}
			}
			if _, err := b.Take(t.Context(), c); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, id)
		}
		for i, id := range []string{"111111111111", "222222222222", "333333333333"} {
			client := usage.Client{PID: i + 20, PIDNamespace: 1}
			go wait(id, client, []int{2, 1, 1}[i])
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if len(order) > 0 || len(b.state.Queue) != 3 {
			t.Errorf("served %v, queue %v", order, b.state.Queue)
		}
		b.see(dockerSees())
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]string{"111111111111", "222222222222", "333333333333"}, order); diff != "" {
			t.Error(diff)
		}
		// Whether the third looks between the leases of the first and the second is chance.
		if third := told["333333333333"]; slices.Equal(third, []int{2, 1}) {
			told["333333333333"] = third[:1]
		}
		want := map[string][]int{"111111111111": {0}, "222222222222": {1}, "333333333333": {2}}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
	})
}

func TestTakeGivesUp(t *testing.T) {
	held := stateOf(lease(func(l *usage.Lease) { l.GPUs = allGPUs }))
	for name, c := range map[string]struct {
		state  State
		looks  []Look
		wait   time.Duration
		cancel time.Duration
		died   bool // the holder
		none   bool // no engine is to make a container
		want   error
		after  time.Duration // at least
		gets   bool
	}{
		"at once":                            {state: held, want: ErrBusy},
		"after a while":                      {state: held, wait: 3 * time.Second, want: ErrBusy, after: 3 * time.Second},
		"when it is told to":                 {state: held, wait: time.Hour, cancel: time.Second, want: context.Canceled, after: time.Second},
		"not for a lease about to expire":    {state: held, died: true, gets: true, after: Grace},
		"for a lease that does not expire":   {state: held, died: true, looks: []Look{dockerLate}, want: ErrBusy},
		"for an engine that hangs, all lost": {state: NewState("boot"), looks: []Look{dockerLate}, want: ErrBusy, after: 2 * (Grace + LookTimeout)},
		"for any engine, all lost":           {state: NewState("boot"), looks: []Look{dockerLate}, none: true, want: ErrBusy, after: 2 * (Grace + LookTimeout)},
	} {
		synctest.Test(t, func(t *testing.T) {
			if c.looks == nil {
				c.looks = []Look{dockerSees()}
			}
			b := newBench(t, c.state, c.looks...)
			if c.died {
				b.lives[clientA] = usage.Ended
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.cancel > 0 {
				time.AfterFunc(c.cancel, cancel)
			}
			claim := wants(1)
			claim.Wait = c.wait
			if c.none {
				claim.Leases[0].Engine, claim.Leases[0].Endpoint = "", ""
			}
			begin := time.Now()
			taken, err := b.Take(ctx, claim)
			if !errors.Is(err, c.want) || (len(taken.Leases) == 1) != c.gets {
				t.Errorf("%s: %v, %v", name, taken.Leases, err)
			}
			if d := time.Since(begin); d < c.after || d > c.after+5*time.Second {
				t.Errorf("%s: after %s, want %s", name, d, c.after)
			}
			if len(b.state.Queue) > 0 {
				t.Errorf("%s: it still waits: %v", name, b.state.Queue)
			}
			if c.state.New && (!b.state.New || b.writes > 0) {
				t.Errorf("%s: a new state was begun", name)
			}
		})
	}
}

func TestTakeErrors(t *testing.T) {
	broken := errors.New("broken")
	b := newBench(t, stateOf(), dockerSees())
	b.err = broken
	if _, err := b.Take(t.Context(), wants(1)); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	b = newBench(t, stateOf(), dockerSees())
	b.state.Queue = []Ticket{{ID: leaseB, Client: clientB, Count: 9}}
	c := wants(9)
	c.Choose = func([]usage.Holder, []gpu.BDF) ([][]gpu.BDF, error) { return nil, broken }
	if _, err := b.Take(t.Context(), c); !errors.Is(err, broken) || len(b.state.Queue) > 0 {
		t.Errorf("error is %v, queue %v", err, b.state.Queue)
	}
}

// What is lost between the look and the lock is looked for again.
func TestTakeAfterTheStateIsLost(t *testing.T) {
	b := newBench(t, stateOf(lease(bound)), dockerSees(labeled(usage.Running)))
	b.meanwhile = func(s *State) {
		*s = NewState("boot")
		s.Lost = "it was damaged"
	}
	taken, err := b.Take(t.Context(), wants(1))
	if err != nil || taken.Lost != "it was damaged" || !slices.Equal(taken.Leases[0].GPUs, gpus(1)) || b.state.Lease(leaseA) == nil {
		t.Errorf("taken %+v, %v; state %+v", taken, err, b.state)
	}
}

// Another client rebuilt the lease while we looked: our look is about the one before, and says
// nothing of the container that came since.
func TestTakeAfterAnotherRebuilt(t *testing.T) {
	b := newBench(t, stateOf(lease()), dockerSees())
	b.lives[clientA] = usage.Ended
	b.meanwhile = func(s *State) {
		*s = NewState("boot")
		r := &observed{looks: []Look{dockerSees(labeled(usage.Running))}, uptime: time.Minute}
		s.reconcile(r)
		s.New = false
	}
	taken, err := b.Take(t.Context(), wants(1))
	if err != nil || !slices.Equal(taken.Leases[0].GPUs, gpus(1)) || b.state.Lease(leaseA) == nil {
		t.Errorf("taken %+v, %v; state %+v", taken, err, b.state)
	}
}

// One of the sources sees a client that makes its container and ends while we look.
func TestClientsAreAskedBeforeEngines(t *testing.T) {
	b := newBench(t, NewState("boot"))
	var asked []string
	made := false
	b.Sources = func(State) []Source {
		return []Source{
			told{look: Look{Engine: "docker", Endpoint: sock}, asked: func(usage.Question) usage.Sight {
				asked = append(asked, "docker")
				if !made {
					return usage.Sight{}
				}
				return usage.Sight{Containers: []usage.Container{labeled(usage.Running)}}
			}},
			told{look: Look{Engine: usage.Processes}, asked: func(q usage.Question) usage.Sight {
				if !q.Lost {
					return usage.Sight{}
				}
				asked = append(asked, "clients")
				made = true // and it has ended
				return usage.Sight{}
			}},
		}
	}
	taken, err := b.Take(t.Context(), wants(1))
	if err != nil || !slices.Equal(taken.Leases[0].GPUs, gpus(1)) {
		t.Errorf("taken %+v, %v", taken, err)
	}
	if diff := cmp.Diff([]string{"clients", "docker"}, asked); diff != "" {
		t.Error(diff)
	}
}

// What a lease has gone on to is not what it was bound to.
func TestOwn(t *testing.T) {
	c := Claim{Own: []string{boxA}}
	l, mine, other := lease(bound), labeled(usage.Exited), labeled(usage.Running, named(boxB))
	for name, h := range map[string]struct {
		usage.Holder
		want bool
	}{
		"its container":             {usage.Holder{Container: &mine}, true},
		"its lease and container":   {usage.Holder{Lease: &l, Container: &mine}, true},
		"its lease alone":           {usage.Holder{Lease: &l}, true},
		"its lease, another's box":  {usage.Holder{Lease: &l, Container: &other}, false},
		"another's container":       {usage.Holder{Container: &other}, false},
		"a lease without container": {usage.Holder{Lease: new(lease())}, false},
		"a process":                 {usage.Holder{}, false},
	} {
		if got := c.isOwn(h.Holder); got != h.want {
			t.Errorf("%s: own is %v", name, got)
		}
	}
}

// One container has one lease, that of its label, after create, start and restart;
// each start has its own while its client lives.
func TestOneContainerOneLease(t *testing.T) {
	b := newBench(t, stateOf(), dockerSees())
	ids := func() (all []string) {
		t.Helper()
		r, err := b.Report(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range r.State.Leases {
			all = append(all, l.ID)
		}
		return all
	}
	take := func(verb, id string, pid int) usage.Client {
		t.Helper()
		client := usage.Client{PID: pid, Start: 1, PIDNamespace: 1}
		b.lives[client] = usage.Alive
		c := wants(1)
		l := usage.Lease{ID: id, Engine: "docker", Endpoint: sock, Verb: verb, Client: client}
		if verb == usage.VerbStart {
			c = wants(0, gpus(0)...)
			c.Own, c.Spare = []string{boxA}, []string{id}
			l.ID, l.Container, l.Started = leaseA, boxA, "1"
		}
		c.Leases = []usage.Lease{l}
		if _, err := b.Take(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return client
	}
	create := take(usage.VerbCreate, leaseA, 20)
	b.see(dockerSees(labeled(usage.Created)))
	b.lives[create] = usage.Ended
	start := take(usage.VerbStart, leaseB, 21)
	other := take(usage.VerbStart, "cccccccccccc", 22)
	if diff := cmp.Diff([]string{leaseA, leaseB, "cccccccccccc"}, ids()); diff != "" {
		t.Errorf("two start at once: %s", diff)
	}
	b.see(dockerSees(labeled(usage.Running, restarted)))
	b.lives[other] = usage.Ended
	if diff := cmp.Diff([]string{leaseA, leaseB}, ids()); diff != "" {
		t.Errorf("one is attached: %s", diff)
	}
	b.lives[start] = usage.Ended
	restart := take(usage.VerbStart, "dddddddddddd", 23)
	b.lives[restart] = usage.Ended
	if diff := cmp.Diff([]string{leaseA}, ids()); diff != "" {
		t.Errorf("after the restart: %s", diff)
	}
	if _, _, err := b.Collect(t.Context()); err != nil || len(b.state.Leases) != 1 {
		t.Errorf("what is kept: %+v, %v", b.state.Leases, err)
	}
	b.see(dockerSees(labeled(usage.Exited)))
	if left := ids(); left != nil {
		t.Errorf("after its end: %v", left)
	}
}
