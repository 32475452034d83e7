// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

var (
	modelRuns = flag.Int("model.runs", 2000, "how many sequences the model goes through")
	modelSeed = flag.Uint64("model.seed", 1, "the seed of the first")
)

// op is something that happens. What it means in a world where it makes no sense is nothing,
// so that ops can be left out of a script.
type op struct {
	kind action
	a, b uint32
}

// action is the kind of an op.
type action uint8

const (
	doStep action = iota
	doFinish
	doRun
	doCollect
	doRelease
	doReport
	doKill
	doInterrupt
	doTime
	doWork
	doEnd
	doStop
	doPause
	doRemove
	doPlain
	doPlainStart
	doForge
	doProcess
	doHang
	doContainerd
	doRestart
	doLose
	doReboot
	doSetClock
	numActions
)

// often is how often each happens, out of their sum.
var often = [numActions]int{
	doStep: 90, doFinish: 80, doRun: 30, doCollect: 6, doRelease: 3, doReport: 2, doKill: 10, doInterrupt: 2, doTime: 22,
	doWork: 22, doEnd: 12, doStop: 3, doPause: 2, doRemove: 6, doPlain: 4, doPlainStart: 2, doForge: 3, doProcess: 2,
	doHang: 4, doContainerd: 3, doRestart: 1, doLose: 3, doReboot: 1, doSetClock: 1,
}

// script is what happens under a seed, which also decides what happens more often than usual,
// or never: some bugs need much of one thing and nothing of another.
func script(seed uint64) []op {
	rng := rand.New(rand.NewPCG(seed, 0))
	var bag []action
	for d, n := range often {
		if d > int(doRun) {
			n *= []int{0, 1, 1, 3}[rng.IntN(4)]
		} else {
			n = n/2 + rng.IntN(n)
		}
		bag = append(bag, slices.Repeat([]action{action(d)}, n)...)
	}
	ops := make([]op, 40+rng.IntN(120))
	for i := range ops {
		ops[i] = op{bag[rng.IntN(len(bag))], rng.Uint32(), rng.Uint32()}
	}
	return ops
}

func TestModel(t *testing.T) {
	runs := *modelRuns / slowness
	for i := range runs {
		seed := *modelSeed + uint64(i)
		ops := script(seed)
		broken, _, sum := play(t, ops)
		if broken == "" && i%20 == 0 {
			if _, _, again := play(t, ops); again != sum {
				t.Fatalf("I5 seed %d came out in two ways", seed)
			}
		}
		if broken != "" {
			ops, log := shrink(t, ops, broken)
			t.Fatalf("seed %d: %s\nshrunk to %d ops:\n%s", seed, broken, len(ops), strings.Join(log, "\n"))
		}
	}
}

// shrink leaves out what is not needed for the same invariant to break.
func shrink(t *testing.T, ops []op, broken string) ([]op, []string) {
	_, log, _ := play(t, ops)
	for size := len(ops) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(ops); {
			fewer := slices.Delete(slices.Clone(ops), at, at+size)
			if b, l, _ := play(t, fewer); b != "" && b[:2] == broken[:2] {
				ops, log = fewer, l
			} else {
				at += size
			}
		}
	}
	return ops, log
}

// play runs a script in a new world. The sum is of every state on the way.
func play(t *testing.T, ops []op) (broken string, log []string, sum string) {
	h := sha256.New()
	synctest.Test(t, func(*testing.T) {
		w := newWorld()
		for _, o := range ops {
			w.do(o)
			synctest.Wait()
			w.check()
			h.Write(w.file)
			h.Write([]byte{0})
			if w.broken != "" {
				break
			}
		}
		if w.broken == "" {
			w.logf("quiet")
			w.quiet(w.finish)
		}
		for _, a := range w.actors {
			a.kill()
		}
		broken, log = w.broken, w.log
	})
	return broken, log, fmt.Sprintf("%x %s", h.Sum(nil), strings.Join(log, "\n"))
}

// ripe are the gates that may open, in an order that no goroutine decides.
func (w *world) ripe() []*gate {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*gate
	for _, g := range w.gates {
		if g.ready == nil || g.ready() {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b *gate) int {
		if a.actor != b.actor {
			return a.actor.n - b.actor.n
		}
		return strings.Compare(a.at, b.at)
	})
	return out
}

func (w *world) pass(g *gate) {
	w.mu.Lock()
	w.gates = slices.DeleteFunc(w.gates, func(o *gate) bool { return o == g })
	w.mu.Unlock()
	w.logf("%d: %s", g.actor.n, g.at)
	close(g.open)
	synctest.Wait()
}

// finish lets an actor go on to where it waits for others.
func (w *world) finish(a *actor) {
	synctest.Wait()
	for range 200 {
		ripe := w.ripe()
		i := slices.IndexFunc(ripe, func(g *gate) bool { return g.actor == a })
		if i < 0 {
			return
		}
		w.pass(ripe[i])
	}
}

// nap is a sleep in which others may wake up.
func (w *world) nap(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// sleep lets time pass, and the daemon finish what is due.
func (w *world) sleep(d time.Duration) {
	for end := time.Now().Add(d); ; {
		next := end
		var due *call
		for _, r := range w.docker.calls {
			if !w.docker.hung && !r.due.After(next) {
				next, due = r.due, r
			}
		}
		w.nap(time.Until(next))
		if due == nil {
			return
		}
		w.work(due)
	}
}

func (w *world) work(r *call) {
	d := r.deal
	w.logf("docker works for %s", d.ID)
	w.docker.work(r)
	if r.make == nil {
		w.rival(r.id)
	} else if p := d.actor.proc; !p.alive && (d.losses != w.losses || time.Since(p.died) >= 2*time.Second) {
		d.void = true // nobody was left who could know of it
	}
	synctest.Wait()
}

func pick[T any](list []T, n uint32) (one T, ok bool) {
	if len(list) == 0 {
		return one, false
	}
	return list[int(n)%len(list)], true
}

func someGPUs(n uint32) []gpu.BDF {
	var out []gpu.BDF
	for i, g := range allGPUs {
		if n>>i&1 != 0 {
			out = append(out, g)
		}
	}
	return out
}
