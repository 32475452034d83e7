// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// world is the host of the model: a clock, processes, engines and a state file.
// All of it is touched by one goroutine at a time, which the scheduler chooses.
type world struct {
	mu     sync.Mutex // of gates and bootAt: some come there side by side
	gates  []*gate
	actors []*actor

	boot   string
	bootAt time.Time
	skew   time.Duration // by how much a user has set the clock
	pids   int
	procs  map[usage.Client]*proc
	docker daemon
	// containerd shows docker's running containers a second time.
	containerdDown, containerdHung bool

	file   []byte // nil: no file
	locked *actor
	losses int

	deals  map[string]*deal // by lease ID
	log    []string
	broken string // the first invariant that broke, and how
}

// proc is a process.
type proc struct {
	alive bool
	died  time.Time
	lease string // that its command line names
	gpus  []gpu.BDF
	plain bool // no client: a process that has GPUs open
	uid   uint32
}

// deal is what a wrapper was given.
type deal struct {
	usage.Lease
	actor  *actor
	share  bool
	losses int // world.losses then
	// done is true from when the daemon has done the last that was asked of it:
	// from here on the container speaks for itself.
	done bool
	made bool   // the container has been created under it
	box  string // the container's ID
	// rivals is true from when somebody else starts the container.
	rivals bool
	// void is true if a user who may do so spoiled it: released it, or forged a
	// container that has its GPUs.
	void bool
}

const sock = "/run/docker.sock"

var allGPUs = []gpu.BDF{{Bus: 1}, {Bus: 2}, {Bus: 3}, {Bus: 4}}

func newWorld() *world {
	return &world{
		boot: "boot-1", bootAt: time.Now().Add(-time.Second), pids: 100,
		procs: map[usage.Client]*proc{}, deals: map[string]*deal{},
		docker: daemon{up: true},
	}
}

func (w *world) logf(format string, a ...any) {
	w.log = append(w.log, fmt.Sprintf("%6.2fs ", w.uptime().Seconds())+fmt.Sprintf(format, a...))
}

func (w *world) fail(format string, a ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, a...)
		w.logf("BROKEN %s", w.broken)
	}
}

func (w *world) uptime() time.Duration { return time.Since(w.bootAt) }

func (w *world) fork(p proc) (usage.Client, *proc) {
	w.pids++
	p.alive = true
	c := usage.Client{PID: w.pids, Start: uint64(w.uptime()), PIDNamespace: 1}
	w.procs[c] = &p
	return c, &p
}

func (p *proc) exit() {
	if p.alive {
		p.alive, p.died = false, time.Now()
	}
}

func (w *world) life(c usage.Client) usage.Liveness {
	p := w.procs[c]
	switch {
	case c.PIDNamespace != 1:
		return usage.Unseen
	case p != nil && p.alive:
		return usage.Alive
	}
	return usage.Ended
}

// load is the state as a reader of the file finds it.
func (w *world) load() State {
	var s State
	switch err := json.Unmarshal(w.file, &s); {
	case w.file == nil:
		s = NewState(w.boot)
		s.Lost = "there is no file"
	case err != nil:
		s = NewState(w.boot)
		s.Lost = err.Error()
	case s.Boot != w.boot:
		s = NewState(w.boot)
	}
	return s
}

func (w *world) save(s State) {
	data, err := json.Marshal(s)
	if err != nil {
		w.fail("state cannot be written: %v", err)
	}
	w.file = data
}

// clients are the live processes whose command line names a lease.
func (w *world) clients() []usage.Claimant {
	var out []usage.Claimant
	for _, c := range w.sortedProcs() {
		if p := w.procs[c]; p.alive && p.lease != "" {
			out = append(out, usage.Claimant{Client: c, UID: p.uid, Lease: p.lease, GPUs: p.gpus})
		}
	}
	return out
}

// users are the processes that have GPUs open.
func (w *world) users() []usage.Process {
	var out []usage.Process
	for _, c := range w.sortedProcs() {
		if p := w.procs[c]; p.alive && p.plain {
			out = append(out, usage.Process{PID: c.PID, Start: c.Start, PIDNamespace: c.PIDNamespace, Command: "python3", GPUs: p.gpus})
		}
	}
	for i, c := range w.docker.list {
		if c.alive() && len(c.gpus) > 0 {
			out = append(out, usage.Process{PID: 10000 + i, PIDNamespace: 1, Command: "train", Container: c.id, GPUs: c.gpus})
		}
	}
	return out
}

func (w *world) sortedProcs() []usage.Client {
	var out []usage.Client
	for c := range w.procs {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b usage.Client) int { return a.PID - b.PID })
	return out
}

// lose takes the state file away, or damages it.
func (w *world) lose(damage bool) {
	w.file = nil
	if damage {
		w.file = []byte(`{"apiVersion": "metax-ctk/v1", "lea`)
	}
	w.forget()
}

// forget is what it means that the state is lost: all that is left are labels and devices. A
// forged one may take the place of the lease then, once its client does not speak for it any
// more, and a privileged container does not show which devices are its own.
func (w *world) forget() {
	w.losses++
	for _, b := range w.docker.list {
		d := w.deals[b.label]
		if d != nil && b.forged {
			d.void = true
		}
		if b.privileged && b.deal != nil {
			b.deal.void = true
		}
	}
}

// rival notes that a container was started while others are about to do so. If it ends before
// their turn, nothing tells that it is not over; only for a client of start that lives is it
// known.
func (w *world) rival(id string) {
	for _, d := range w.deals {
		if d.box == id && !d.done {
			d.rivals = true
			d.void = d.void || d.Verb == usage.VerbRun || !d.actor.proc.alive
		}
	}
}

// reboot ends everything; containers with a restart policy come back.
func (w *world) reboot() {
	for _, a := range w.actors {
		a.kill()
	}
	for _, p := range w.procs {
		p.exit()
	}
	w.docker.restart()
	w.forget()
	w.boot = "boot-" + strconv.Itoa(w.losses+1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bootAt = time.Now().Add(-time.Second)
}
