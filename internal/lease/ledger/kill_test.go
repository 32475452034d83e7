// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/test/faults"
)

// begin makes a directory with a lease in it.
func begin(t *testing.T, dir string) {
	t.Helper()
	l := ledger.New(dir, boot)
	if err := l.Init(-1); err != nil {
		t.Fatal(err)
	}
	update(t, l, add("a"))
}

// play makes the scene anew.
func (s scene) play(t *testing.T) (l *ledger.Ledger, dir string, old lease.State) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run", "leases")
	l = ledger.New(dir, boot)
	s.before(t, dir)
	old = read(t, l)
	if lost := old.Lost != ""; lost != s.damaged {
		t.Fatalf("lost because %q", old.Lost)
	}
	return l, dir, old
}

// outcome checks that the state is the old one or that with the lease "b", and that the next
// Update goes on from there at once and leaves nothing behind.
func (s scene) outcome(t *testing.T, l *ledger.Ledger, dir string, old lease.State) (written bool) {
	t.Helper()
	got := read(t, l)
	want := old
	if written = got.Lease("b") != nil; written {
		want = follow(old, "b")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("neither the old state nor the new one: %s", d)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := l.Update(ctx, add("c")); err != nil {
		t.Fatal(err)
	}
	check(t, l, follow(got, "c"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains([]string{"leases.json", "leases.json.damaged", "lock"}, e.Name()) {
			t.Errorf("%s is left", e.Name())
		}
	}
	if s.after != nil {
		s.after(t, dir)
	}
	return written
}

// follow is the state as it is read after a lease was added.
func follow(s lease.State, id string) lease.State {
	s.New, s.Lost = false, ""
	s.Leases = append(slices.Clone(s.Leases), leaseOf(id))
	return s
}

// TestKilled stops the writer with SIGKILL at the system calls of an Update, once at
// each state of the directory: afterwards the state is the old one or the new one,
// whole, nobody has the lock, and the next writer clears up.
func TestKilled(t *testing.T) {
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			l, dir, old := s.play(t)
			whole := adding(dir).Run(t, -1, faults.Kill)
			if !whole.Status.Exited() || whole.Status.ExitStatus() != 0 || !s.outcome(t, l, dir, old) {
				t.Fatalf("child ended with %x when nobody killed it: %s", whole.Status, whole.Output)
			}
			stops := whole.Stops()
			first := -1 // to find the new state
			for _, n := range stops {
				l, dir, old := s.play(t)
				e := adding(dir).Run(t, n, faults.Kill)
				if !e.Status.Signaled() || e.Status.Signal() != unix.SIGKILL {
					t.Fatalf("at call %d: child ended with %x, want SIGKILL", n, e.Status)
				}
				if d := cmp.Diff(numbers(whole.Calls[:n+1]), numbers(e.Calls)); d != "" {
					t.Fatalf("the calls are others than before: %s", d)
				}
				written := s.outcome(t, l, dir, old)
				if written && first < 0 {
					first = n
				}
				if t.Failed() || !written && first >= 0 {
					t.Fatalf("killed at call %d of %d (number %d): written %v", n, len(whole.Calls), e.Calls[n].Number, written)
				}
			}
			if first <= 0 {
				t.Errorf("the new state was found from call %d of %d on", first, len(whole.Calls))
			}
			t.Logf("%d system calls, killed at %d, the new state from %d on", len(whole.Calls), len(stops), first)
		})
	}
}

func numbers(calls []faults.Call) []uint64 {
	var all []uint64
	for _, c := range calls {
		all = append(all, c.Number)
	}
	return all
}
