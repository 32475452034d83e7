// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/exporter/metrics"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// newHostWorld is newWorld on a host, whose docker has a container on GPU 0.
func newHostWorld(t *testing.T) (*world, *Exporter, *lease.Report) {
	t.Helper()
	w, e := newWorld(t)
	report := &lease.Report{
		Now:     w.now,
		Holders: []usage.Holder{{GPUs: []gpu.BDF{w.node.GPUs[0].BDF}, Container: &usage.Container{Engine: "docker", ID: "c", Facts: usage.Facts{Name: "train"}}}},
		Looks:   []lease.Look{{Engine: "docker"}, {Engine: "podman", Err: usage.ErrAbsent}},
	}
	e.sources = Sources{Readings: e.sources.Readings, Holders: func(context.Context) (lease.Report, error) { return *report, w.leaseErr }}
	w.see(e, "a")
	return w, e, report
}

// TestHolders: the users of a host's GPUs, and which engines have answered.
func TestHolders(t *testing.T) {
	both := map[string]bool{metrics.FromReader: true, metrics.FromReadings: true}
	for name, test := range map[string]struct {
		change  func(*world, *lease.Report)
		sources map[string]bool
		users   int
	}{
		"all answer":   {func(*world, *lease.Report) {}, map[string]bool{metrics.FromLeases: true, "docker": true}, 1},
		"no leases":    {func(w *world, r *lease.Report) { *r = lease.Report{}; w.leaseErr = errors.New("x") }, map[string]bool{metrics.FromLeases: false}, 0},
		"docker fails": {func(_ *world, r *lease.Report) { r.Holders, r.Looks[0].Err = nil, errors.New("x") }, map[string]bool{metrics.FromLeases: true, "docker": false}, 0},
		"second fails": {func(_ *world, r *lease.Report) {
			r.Looks = append(r.Looks, lease.Look{Engine: "docker", Endpoint: "/z", Err: errors.New("x")})
		}, map[string]bool{metrics.FromLeases: true, "docker": false}, 1},
		"first fails": {func(_ *world, r *lease.Report) {
			r.Looks = append(r.Looks, lease.Look{Engine: "docker", Endpoint: "/z"})
			r.Looks[0].Err = errors.New("x")
		}, map[string]bool{metrics.FromLeases: true, "docker": false}, 1},
		"an old answer": {func(w *world, r *lease.Report) { r.Now = w.now.Add(-MaxAge - 1) }, map[string]bool{metrics.FromLeases: true, "docker": true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, e, report := newHostWorld(t)
			test.change(w, report)
			for source, up := range both {
				test.sources[source] = up
			}
			s := e.Take()
			if diff := cmp.Diff(test.sources, s.Sources); diff != "" || len(s.Users) != test.users {
				t.Errorf("%v: %s", s.Users, diff)
			}
		})
	}
}

// TestLateHolders: an engine that hangs delays no scrape for longer than the patience, and
// meanwhile the last answer counts, unless it is too old.
func TestLateHolders(t *testing.T) {
	w, e, report := newHostWorld(t)
	e.Take()
	hanging, done := make(chan struct{}), make(chan struct{})
	e.wait = time.Millisecond
	// the readings may be late as well, and are of no interest here
	e.sources.Readings = func(context.Context) (reader.Readings, error) { return reader.Readings{}, nil }
	e.sources.Holders = func(context.Context) (lease.Report, error) {
		defer close(done)
		<-hanging
		return *report, nil
	}
	for _, step := range []struct {
		after time.Duration
		users int
	}{{leastAge, 1}, {MaxAge - leastAge, 1}, {leastAge, 0}} {
		w.now = w.now.Add(step.after)
		if s := e.Take(); len(s.Users) != step.users || s.Sources[metrics.FromLeases] {
			t.Errorf("after %s: %v, %v", step.after, s.Users, s.Sources)
		}
	}
	report.Now = w.now
	close(hanging)
	<-done
	e.wait = time.Minute
	w.now = w.now.Add(leastAge)
	if s := e.Take(); len(s.Users) != 1 || !s.Sources[metrics.FromLeases] || !s.Sources["docker"] {
		t.Errorf("%v, %v", s.Users, s.Sources)
	}
}

// TestHostLeases: a host shows its leases without a right to write them, and only for the
// GPUs that it has.
func TestHostLeases(t *testing.T) {
	n := simtest.Node(t, "c500-8")
	root := t.TempDir()
	boot, err := assign.Proc().BootID()
	if err != nil {
		t.Fatal(err)
	}
	book := ledger.New(root+assign.Dir, boot)
	if err := book.Init(-1); err != nil {
		t.Fatal(err)
	}
	client, err := assign.Proc().Self()
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Update(t.Context(), func(s *lease.State) error {
		s.Leases = append(s.Leases, usage.Lease{ID: "0123456789ab", Rev: 1, GPUs: []gpu.BDF{n.GPUs[3].BDF}, Verb: usage.VerbRun, Client: client, Since: time.Now()})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	h := &Host{Root: root, Node: func() gpu.Node { return n }, Log: slog.New(slog.DiscardHandler)}
	for range 2 {
		report, err := h.Holders(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		users, _ := metrics.HostUsersOf(n, report.Holders)
		if of := users[n.GPUs[3].BDF]; len(users[n.GPUs[2].BDF]) != 0 || len(of) != 1 || of[0].Lease != "0123456789ab" {
			t.Errorf("%v", users)
		}
	}
	h.seen = map[string]lease.Known{"docker//x": {}}
	n.GPUs = n.GPUs[:2]
	if _, err := h.Holders(t.Context()); err != nil || len(h.seen) != 0 || len(h.gpus) != 2 {
		t.Errorf("%v: of the GPUs before, %v is still known", err, h.seen)
	}
}

// store is a lease.Store with a state.
type store struct {
	lease.Store
	state lease.State
}

func (s store) Read() (lease.State, error) { return s.state, nil }

// TestRemembering: the state file knows better than an earlier look.
func TestRemembering(t *testing.T) {
	known := func(name string) lease.Known { return lease.Known{Facts: usage.Facts{Name: name}} }
	in := store{state: lease.State{Seen: map[string]lease.Known{"a": known("of the file")}}}
	got, err := remembering{in, map[string]lease.Known{"a": known("old"), "b": known("of a look")}}.Read()
	want := map[string]lease.Known{"a": known("of the file"), "b": known("of a look")}
	if diff := cmp.Diff(want, got.Seen); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got, _ := (remembering{in, nil}).Read(); len(got.Seen) != 1 {
		t.Errorf("%v", got.Seen)
	}
}
