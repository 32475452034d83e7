// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// memory is a Store without a file.
type memory struct {
	t     *testing.T
	state State
	// meanwhile happens between the first read and the lock.
	meanwhile func(*State)
	err       error
	writes    int
	mu        sync.Mutex
}

func (m *memory) Read() (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.read()
}

func (m *memory) read() (State, error) {
	data, err := json.Marshal(m.state)
	if err != nil {
		m.t.Fatal(err)
	}
	s := State{New: m.state.New, Lost: m.state.Lost}
	if err := json.Unmarshal(data, &s); err != nil {
		m.t.Fatal(err)
	}
	return s, m.err
}

func (m *memory) Update(ctx context.Context, change func(*State) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.meanwhile != nil {
		m.meanwhile(&m.state)
		m.meanwhile = nil
	}
	s, err := m.read()
	if err != nil {
		return err
	}
	if err := change(&s); err != nil {
		return err
	}
	s.New, s.Lost = false, ""
	m.state = s
	m.writes++
	return nil
}

// told is a source with a given look.
type told struct {
	look  Look
	asked func(usage.Question) usage.Sight
}

func (s told) Name() (engine, endpoint string) { return s.look.Engine, s.look.Endpoint }

func (s told) Look(_ context.Context, q usage.Question) (usage.Sight, error) {
	if s.asked != nil {
		return s.asked(q), nil
	}
	return s.look.Sight, s.look.Err
}

// bench is a Keeper with all that it works on.
type bench struct {
	Keeper
	memory
	looks []Look
	eyes  sync.Mutex // of looks
	lives map[usage.Client]usage.Liveness
}

func newBench(t *testing.T, s State, looks ...Look) *bench {
	b := &bench{memory: memory{t: t, state: s}, looks: looks, lives: map[usage.Client]usage.Liveness{clientA: usage.Alive, clientB: usage.Alive}}
	begin := time.Now()
	b.Keeper = Keeper{
		LeaseID: idOf,
		Store:   &b.memory, Now: time.Now, Liveness: func(c usage.Client) usage.Liveness { return b.lives[c] },
		Uptime: func() time.Duration { return time.Hour + time.Since(begin) },
		Sources: func(State) []Source {
			b.eyes.Lock()
			defer b.eyes.Unlock()
			var out []Source
			for _, l := range b.looks {
				out = append(out, told{look: l})
			}
			return out
		},
	}
	return b
}

// idOf is the ID of the client's lease: that of clientA is leaseA, that of clientB leaseB.
func idOf(c usage.Client, _ int) string {
	if c == clientA {
		return leaseA
	}
	return leaseB
}

// see changes what there is to see.
func (b *bench) see(looks ...Look) {
	b.eyes.Lock()
	defer b.eyes.Unlock()
	b.looks = looks
}

// wants is a claim of leaseB for so many GPUs, or for these.
func wants(count int, these ...gpu.BDF) Claim {
	o := order{count: count, named: these}
	if these != nil {
		o.count = len(these)
	}
	l := usage.Lease{ID: leaseB, Engine: "docker", Endpoint: sock, Verb: usage.VerbRun, Client: clientB, User: &usage.User{UID: 1001}}
	return Claim{Leases: []usage.Lease{l}, Choose: o.choose, Count: o.count, GPUs: these}
}
