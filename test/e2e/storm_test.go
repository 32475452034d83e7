// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// weather is what a round of the storm is made of.
type weather struct {
	name    string
	clients int // that ask for two GPUs each, all at once
	// kills reports whether clients and containers are killed.
	kills bool
	// crash kills the daemon in the middle; live reports whether its containers live on.
	crash, live bool
	// rot damages the state file, and removes it, in the middle.
	rot bool
}

// storm are the rounds; a nightly run repeats them with different seeds.
var storm = []weather{
	{name: "kills", clients: 200, kills: true},
	{name: "crash", clients: 40, kills: true, crash: true},
	{name: "crash, live restore, rot", clients: 60, kills: true, crash: true, live: true, rot: true},
}

// TestStorm runs many clients for few GPUs and kills everything that can be killed. The
// kernel reports whether a GPU ever had two users: see the probe's hold.
func TestStorm(t *testing.T) {
	t.Parallel()
	h := newHost(t, "sid", sandbox.Hybrid)
	daemon := h.docker(t, "28.", nil)
	seed := uint64(0)
	for range max(1, night) {
		for _, w := range storm {
			seed++
			t.Run(fmt.Sprintf("%d %s", seed, w.name), func(t *testing.T) {
				h.configure(t, map[string]any{"live-restore": w.live})
				daemon.stop(t)
				daemon.start(t)
				blow(t, desk{host: h, client: "docker", root: nodeDir}, daemon, w, seed)
			})
		}
	}
}

// round is one round under way.
type round struct {
	desk
	weather
	inbox   inbox
	daemon  *daemon
	witness *witness
	random  *rand.Rand // for one goroutine
	mu      sync.Mutex
	gone    map[string]bool // clients that are through
	tally   map[string]int
	spent   time.Duration // processor time of the clients, metax-docker's and docker's
	errors  []error
}

func (r *round) fail(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Errorf(format, a...))
}

func (r *round) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally[what]++
}

func blow(t *testing.T, d desk, daemon *daemon, w weather, seed uint64) {
	begin := time.Now()
	r := &round{
		desk: d, weather: w, inbox: d.inbox(t), daemon: daemon, gone: map[string]bool{}, tally: map[string]int{},
		random: rand.New(rand.NewPCG(seed, 0)),
	}
	r.witness = newWitness(d.Path(d.root + stateFile))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	var clients, others sync.WaitGroup
	stormy, over := context.WithCancel(ctx)
	others.Go(func() { r.witness.watch(stormy) })
	others.Go(func() { r.nothingLost(stormy) })
	others.Go(func() { r.cleanUp(stormy) })
	if w.kills {
		random := rand.New(rand.NewPCG(seed, 1))
		others.Go(func() { r.killContainers(stormy, random) })
	}
	for i := range w.clients {
		c := r.client(i)
		clients.Go(func() {
			c.live(ctx)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.gone[c.name] = true
		})
	}
	if w.rot {
		random := rand.New(rand.NewPCG(seed, 2))
		others.Go(func() { r.spoil(stormy, random) })
	}
	if w.crash {
		for range 2 {
			wait(ctx, time.Second+time.Duration(r.random.IntN(2000))*time.Millisecond)
			r.daemon.kill(t)
			wait(ctx, time.Duration(r.random.IntN(1500))*time.Millisecond)
			r.daemon.start(t)
		}
	}
	clients.Wait()
	over()
	others.Wait()
	lived := time.Since(begin)

	defer func() {
		t.Logf("%d clients in %v (%v of processor time), the round in %v: %v",
			w.clients, lived.Round(time.Second), r.spent.Round(time.Second), time.Since(begin).Round(time.Second), r.tally)
	}()
	r.remove(t)
	r.sweep(t)
	if left := r.leases(t); len(left) > 0 {
		t.Errorf("leases are left behind: %+v", left)
	}
	if o := r.ps(t); len(o.held()) > 0 || len(o.Queue) > 0 {
		t.Errorf("somebody is left behind: %v, queue %v", o, o.Queue)
	}
	r.verdict(t)
}

// verdict asserts what was seen while it lasted.
func (r *round) verdict(t *testing.T) {
	t.Helper()
	for _, err := range append(r.errors, r.witness.verdict()...) {
		t.Error(err)
	}
	entries, err := os.ReadDir(r.inbox.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(r.inbox.path, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(e.Name(), report.Violation):
			t.Errorf("a GPU belongs to two containers: %s", text)
		case strings.HasPrefix(e.Name(), report.Held):
			r.tally["containers that held two GPUs"]++
			if n := len(strings.Fields(string(text))); n != 2 {
				t.Errorf("%s found %d GPUs: %s", e.Name(), n, text)
			}
		}
	}
	if r.tally["containers that held two GPUs"] < r.clients/4 {
		t.Errorf("only %d of %d clients had a container that lived: %v", r.tally["containers that held two GPUs"], r.clients, r.tally)
	}
	r.tally["states of the file"] = r.witness.states
	r.tally["most leases at once"] = r.witness.most
}

// wait waits, and reports whether that is what ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
