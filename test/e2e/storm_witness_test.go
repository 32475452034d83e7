// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// stateFile is where the leases of a node are.
const stateFile = "/run/metax-container-toolkit/leases/leases.json"

// garbage is what the storm itself puts at the beginning of a state file.
const garbage = "\x00garbage of the storm"

// witness reads the state file as often as it can, without a lock, as anybody may.
type witness struct {
	path   string
	mu     sync.Mutex
	pids   map[int]bool   // processes that had a lease
	owners map[int]string // processes whose client is known
	twice  []twice
	errors []error
	states int // that it saw
	most   int // leases in one of them
}

// twice are two leases that had the same GPU, and the state that they stood in.
type twice struct {
	a, b claim
	text []byte
}

// claim is who a lease is for.
type claim struct {
	id        string
	container string
	pid       int
}

func newWitness(path string) *witness {
	return &witness{path: path, pids: map[int]bool{}, owners: map[int]string{}}
}

// knows takes down whose process that is.
func (w *witness) knows(pid int, client string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owners[pid] = client
}

// verdict lists the errors in the recorded states, at the end. The leases of a create
// and of its start may exist at the same time, because both are for the same container.
func (w *witness) verdict() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.errors
	for _, two := range w.twice {
		a, b := two.a, two.b
		one := a.container != "" && a.container == b.container || w.owners[a.pid] != "" && w.owners[a.pid] == w.owners[b.pid]
		if !one {
			all = append(all, fmt.Errorf("the leases %s of %q and %s of %q have the same GPU\n%s", a.id, w.owners[a.pid], b.id, w.owners[b.pid], two.text))
		}
	}
	return all
}

// leased reports whether a lease of that client was seen.
func (w *witness) leased(pid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pids[pid]
}

func (w *witness) watch(ctx context.Context) {
	var last []byte
	for wait(ctx, 2*time.Millisecond) {
		text, err := read(w.path)
		if os.IsNotExist(err) || bytes.Equal(text, last) || bytes.HasPrefix(text, []byte(garbage)) {
			continue
		}
		last = text
		w.mu.Lock()
		w.states++
		if err == nil {
			err = w.look(text)
		}
		if err != nil {
			w.errors = append(w.errors, err)
		}
		w.mu.Unlock()
	}
}

// read returns the file as it is. The storm may spoil it while it is read; what begins with
// garbage then is that.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil || json.Valid(text) {
		return text, err
	}
	begin := make([]byte, len(garbage))
	if n, err := f.ReadAt(begin, 0); err == nil && string(begin[:n]) == garbage {
		return begin, nil
	}
	return text, nil
}

// look asserts that a state is complete, and records which users have the same GPU.
func (w *witness) look(text []byte) error {
	var state struct {
		Leases []struct {
			ID        string
			GPUs      []string
			Container string
			Client    struct{ PID int }
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return fmt.Errorf("the state file is no JSON: %w\n%s", err, text)
	}
	owners := map[string]claim{}
	for _, l := range state.Leases {
		w.pids[l.Client.PID] = true
		if len(l.GPUs) != 2 {
			return fmt.Errorf("lease %s has %d GPUs\n%s", l.ID, len(l.GPUs), text)
		}
		me := claim{l.ID, l.Container, l.Client.PID}
		for _, gpu := range l.GPUs {
			if other, ok := owners[gpu]; ok {
				w.twice = append(w.twice, twice{other, me, text})
			}
			owners[gpu] = me
		}
	}
	w.most = max(w.most, len(state.Leases))
	return nil
}

// nothingLost asserts repeatedly that every running container with the toolkit's label
// counts as a user of its GPUs.
func (r *round) nothingLost(ctx context.Context) {
	for wait(ctx, 300*time.Millisecond) {
		before := r.running(ctx)
		o, err := r.tryPs(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.fail("%w", err)
			continue
		}
		after := r.running(ctx)
		for id, lease := range before {
			if after[id] != lease {
				continue
			}
			r.count("containers looked for")
			if n := o.holdings(id, lease); n != 2 {
				r.fail("container %.12s with lease %s runs, and %d of its GPUs are held:\n%v", id, lease, n, o)
			}
		}
	}
}

// running returns the containers that run under a lease, by ID.
func (r *round) running(ctx context.Context) map[string]string {
	const label = "metax-tech.com/lease"
	said, err := r.try(ctx, nil, "docker", "ps", "--no-trunc", "--filter", "status=running", "--filter", "label="+label, "--format", `{{.ID}}={{.Label "`+label+`"}}`)
	if err != nil || said.code != 0 {
		return nil // no daemon
	}
	all := map[string]string{}
	for _, word := range strings.Fields(said.stdout) {
		id, lease, _ := strings.Cut(word, "=")
		all[id] = lease
	}
	return all
}

// holdings is the number of GPUs of a container or its lease.
func (o occupancy) holdings(id, lease string) (n int) {
	for _, g := range o.GPUs {
		if slices.ContainsFunc(g.Holders, func(h holder) bool {
			return h.Container != nil && h.Container.ID == id || h.Lease != nil && (h.Lease.Container == id || h.Lease.ID == lease)
		}) {
			n++
		}
	}
	return n
}
