// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// watches is a claim that takes no lease, and calls told with what blocks it.
func watches(count int, wait time.Duration, told func(error)) Claim {
	c := wants(count)
	c.Leases, c.Wait, c.Waiting = nil, wait, func(p Progress) { told(p.Err) }
	return c
}

// Await ends when the GPUs are free, and leaves neither a ticket nor a lease.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, stateOf(fullNode), dockerSees(labeled(usage.Running)))
		time.AfterFunc(time.Minute, func() { b.see(dockerSees()) })
		begin := time.Now()
		blocked := map[string]int{}
		report, err := b.Await(t.Context(), watches(2, time.Hour, func(err error) { blocked[err.Error()]++ }))
		if waited := time.Since(begin); err != nil || waited < time.Minute || waited > time.Minute+2*time.Second || len(report.Holders) > 0 {
			t.Errorf("after %s: %v, %v", waited, report.Holders, err)
		}
		if len(blocked) != 1 || len(b.state.Queue)+len(b.state.Leases) > 0 {
			t.Errorf("blocked by %v, left %v and %v", blocked, b.state.Queue, b.state.Leases)
		}
	})
}

// All requests in the queue go before Await, also those that come later, and they do not
// notice it.
func TestAwaitBehindQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, stateOf(fullNode), dockerSees(labeled(usage.Running)))
		var reasons []string
		told := func(err error) {
			if len(reasons) == 0 || reasons[len(reasons)-1] != err.Error() {
				reasons = append(reasons, err.Error())
			}
		}
		watched := make(chan error, 1)
		go func() {
			_, err := b.Await(t.Context(), watches(4, time.Hour, told))
			watched <- err
		}()
		time.Sleep(time.Second)
		served := b.waiting(t, leaseB, clientB, ann)
		time.Sleep(5 * time.Second)
		b.see(dockerSees())
		if err := <-served; err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		select {
		case err := <-watched:
			t.Fatalf("met while leaseB has a GPU: %v", err)
		default:
		}
		if _, _, err := b.Release(t.Context(), []string{leaseB}, usage.User{}, true); err != nil {
			t.Fatal(err)
		}
		if err := <-watched; err != nil {
			t.Error(err)
		}
		want := []string{(&FullError{4, 0, 4}).Error(), "a request in the queue goes first (metax-ctk lease list)", (&FullError{4, 3, 4}).Error()}
		if d := cmp.Diff(want, reasons); d != "" {
			t.Error(d)
		}
	})
}

// Await gives up when its time is over, at once without any, and when it is interrupted.
func TestAwaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, stateOf(fullNode), dockerSees(labeled(usage.Running)))
		nothing := func(error) {}
		begin := time.Now()
		_, err := b.Await(t.Context(), watches(1, 3*time.Second, nothing))
		var late *WaitError
		if !errors.As(err, &late) || !errors.Is(err, ErrBusy) || time.Since(begin) != 3*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		if _, err := b.Await(t.Context(), watches(1, 0, nothing)); !errors.Is(err, ErrBusy) || errors.As(err, &late) {
			t.Errorf("without time: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Await(ctx, watches(1, time.Hour, nothing)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: %v", err)
		}
		never := watches(9, time.Hour, nothing)
		never.Choose = func([]usage.Holder, []gpu.BDF) ([][]gpu.BDF, error) { return nil, errors.New("too many") }
		if _, err := b.Await(t.Context(), never); err == nil || err.Error() != "too many" {
			t.Errorf("never: %v", err)
		}
	})
}

// Where the state is lost, Await waits for all engines, as Take does.
func TestAwaitLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := NewState("boot")
		lost.Lost = "it was damaged"
		b := newBench(t, lost, dockerLate)
		time.AfterFunc(time.Minute, func() { b.see(dockerSees()) })
		begin := time.Now()
		reasons := map[string]int{}
		_, err := b.Await(t.Context(), watches(1, time.Hour, func(err error) { reasons[err.Error()]++ }))
		if waited := time.Since(begin); err != nil || waited < time.Minute || len(reasons) != 1 {
			t.Errorf("after %s: %v, blocked by %v", waited, err, reasons)
		}
		b.see(Look{Engine: "containerd", Err: fs.ErrPermission})
		if _, err := b.Await(t.Context(), watches(1, 0, nil)); err != nil || !b.state.New {
			t.Errorf("an engine that may not be asked: %v; a new state is begun: %t", err, !b.state.New)
		}
	})
}
