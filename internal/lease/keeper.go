package lease

import (
	"context"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Store keeps the State.
type Store interface {
	// Read returns the state as it was last written; it takes no lock.
	Read() (State, error)
	// Update calls change under the lock of all writers and writes what it leaves
	// behind, unless it fails.
	Update(ctx context.Context, change func(*State) error) error
}

// Keeper answers who holds which GPU, and gives GPUs away.
type Keeper struct {
	Store Store
	// Sources are the places to look, given the state as it is.
	Sources func(State) []Source
	// Life tells what has become of a client.
	Life func(usage.Client) usage.Life
	// Uptime is the time since the host started, by a clock that is never set.
	Uptime func() time.Duration
	// Now is the time of day, for people.
	Now func() time.Time
	// GPUs are all that the node has, ascending; none if the node is simulated, as
	// nothing is at stake there.
	GPUs []gpu.BDF
	// Ignore names programs, containers and images that look at GPUs without
	// using them.
	Ignore []string
	// WaitMax is how long a request may wait, whatever the state file says; 0 is
	// without a bound.
	WaitMax time.Duration
	// Clamped is told of requests that wait no longer than WaitMax from now on,
	// although their tickets said more; it may be nil.
	Clamped func([]Ticket)
}

// Report is what is so.
type Report struct {
	State   State
	Holders []usage.Holder
	Looks   []Look
	// Closed are the leases that are over and still stand in the state file.
	Closed []Closed
	// Uptime is when the looks came back.
	Uptime time.Duration
	// Hidden are the GPUs that a process may use which an unfinished look did not come
	// to: all of the node, or none.
	Hidden []gpu.BDF
	// PIDNamespace is the one in which processes were looked at.
	PIDNamespace uint64
}

// HoldersOf returns the holders as they count for a request that names these GPUs.
func (r Report) HoldersOf(named []gpu.BDF) []usage.Holder {
	return append(slices.Clone(r.Holders), r.State.unseen(r.Hidden, named, r.PIDNamespace)...)
}

// Report looks at everything and changes nothing. It needs no right to write.
func (k *Keeper) Report(ctx context.Context) (Report, error) {
	state, err := k.Store.Read()
	if err != nil {
		return Report{}, err
	}
	r := k.round(ctx, state)
	state.Leases, state.Queue = slices.Clone(state.Leases), slices.Clone(state.Queue)
	closed := state.settle(r)
	return Report{
		State: state, Holders: append(state.holders(r, k.Ignore), state.unseen(r.hidden(), nil, r.namespace())...),
		Looks: r.looks, Closed: closed, Uptime: r.uptime, Hidden: r.hidden(), PIDNamespace: r.namespace(),
	}, nil
}

// round finds out what is so, in the order that round demands.
func (k *Keeper) round(ctx context.Context, state State) *round {
	r := &round{before: state, lives: map[usage.Client]usage.Life{}, lost: state.New, waitMax: k.WaitMax, gpus: k.GPUs}
	q := usage.Question{Seen: make(map[string]usage.Facts, len(state.Seen)), Lost: r.lost}
	for _, t := range state.Queue {
		r.lives[t.Client] = k.Life(t.Client)
	}
	for _, l := range state.Leases {
		life := k.Life(l.Client)
		r.lives[l.Client] = life
		if life == usage.Ended && l.Container == "" {
			q.Ended = append(q.Ended, l)
		}
	}
	for _, p := range state.Processes {
		r.lives[p.Client()] = k.Life(p.Client())
		q.Recorded = append(q.Recorded, p.Client())
	}
	for key, known := range state.Seen {
		q.Seen[key] = known.Facts
	}
	if r.lost {
		// Here too clients come before engines: one that makes its container and
		// ends meanwhile is seen by either.
		others := func(s Source) bool { engine, _ := s.Name(); return engine != usage.Processes }
		r.clients = lookAll(ctx, slices.DeleteFunc(k.Sources(state), others), q)
		q.Lost = false
	}
	r.asked = k.Uptime()
	r.looks = lookAll(ctx, k.Sources(state), q)
	r.uptime, r.now = k.Uptime(), k.Now()
	return r
}

// roundLasts is how old looks may be when the lock is there. It is far more than
// any wait for the lock.
const roundLasts = 30 * time.Second

// update settles the state under the lock and hands it to change with those who
// hold GPUs then. Where the state is lost between reading and locking, or the looks
// are too old by then, everything is looked at again.
func (k *Keeper) update(ctx context.Context, change func(*State, *round, []usage.Holder, []Closed) error) ([]Look, error) {
	for {
		before, err := k.Store.Read()
		if err != nil {
			return nil, err
		}
		r := k.round(ctx, before)
		again := false
		err = k.Store.Update(ctx, func(s *State) error {
			// A client may be stopped between the looks and the lock, for as long as it likes.
			if again = s.New && !r.lost || k.Uptime()-r.uptime > roundLasts; again {
				return errAgain
			}
			closed := s.settle(r)
			return change(s, r, s.holders(r, k.Ignore), closed)
		})
		if !again {
			if err == nil && len(r.clamped) > 0 && k.Clamped != nil {
				k.Clamped(r.clamped)
			}
			return r.looks, err
		}
	}
}
