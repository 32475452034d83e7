// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/exporter/metrics"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// world is what the sources of an Exporter answer.
type world struct {
	now                            time.Time
	node                           gpu.Node
	readingsAt                     time.Time
	readingsErr, podsErr, leaseErr error
	asked                          int
	log                            bytes.Buffer
}

func newWorld(t *testing.T) (*world, *Exporter) {
	t.Helper()
	n := simtest.Node(t, "c500-4-degraded")
	start := time.Unix(1_700_000_000, 0)
	w := &world{now: start, readingsAt: start, node: n}
	e := New(Sources{
		Readings: func(context.Context) (reader.Readings, error) {
			w.asked++
			r := reader.Readings{At: w.readingsAt, Source: "mx-smi"}
			for _, g := range sim.Readings(n, 0) {
				r.GPUs = append(r.GPUs, reader.Reading{BDF: g.BDF, Reading: g})
			}
			if w.readingsErr != nil {
				return reader.Readings{}, w.readingsErr
			}
			return r, nil
		},
		Pods: func(context.Context) ([]podresources.Container, error) {
			if w.podsErr != nil {
				return nil, w.podsErr
			}
			return []podresources.Container{{Namespace: "n", Pod: "p", Name: "c", Devices: map[string][]string{"metax-tech.com/gpu": {string(n.GPUs[0].UUID)}}}}, nil
		},
		Leases: func() ([]usage.Lease, error) {
			if w.leaseErr != nil {
				return nil, w.leaseErr
			}
			return []usage.Lease{{ID: "0123456789ab", GPUs: []gpu.BDF{n.GPUs[1].BDF}}}, nil
		},
	}, Rules{Rules: health.DefaultRules}, slog.New(slog.NewTextHandler(&w.log, nil)))
	e.now = func() time.Time { return w.now }
	e.silent = start
	return w, e
}

func (w *world) see(e *Exporter, token string) {
	e.See(reader.Report{Token: token, At: w.now, Node: w.node, Look: health.FromNode(w.node)})
}

func (w *world) silence(e *Exporter) {
	e.See(reader.Report{Token: e.report.Token, At: e.report.At, Node: e.report.Node, Look: health.Look{Failed: "the reader does not answer"}})
}

func conditions(s metrics.Snapshot) (words []string) {
	for _, c := range s.Health.GPUs {
		words = append(words, c.Health)
	}
	return slices.Compact(words)
}

func TestTake(t *testing.T) {
	w, e := newWorld(t)
	w.see(e, "a")
	s := e.Take()
	all := map[string]bool{metrics.FromReader: true, metrics.FromReadings: true, metrics.FromKubelet: true, metrics.FromLeases: true}
	if diff := cmp.Diff(all, s.Sources); diff != "" || len(s.Readings) != 4 || s.Readings[0].PowerW == nil || len(s.Users) != 2 || len(s.Node.GPUs) != 4 {
		t.Errorf("%+v %s", s, diff)
	}
	if diff := cmp.Diff([]string{health.Healthy}, conditions(s)); diff != "" {
		t.Error(diff)
	}
	if e.Take(); w.asked != 1 {
		t.Errorf("asked %d times within a second", w.asked)
	}
	if w.now = w.now.Add(leastAge); len(e.Take().Readings) != 4 || w.asked != 2 {
		t.Errorf("asked %d times", w.asked)
	}
}

// TestNothingFreezes: what a source does not say any more is not repeated.
func TestNothingFreezes(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		check  func(metrics.Snapshot) bool
	}{
		"old readings":    {func(w *world) { w.readingsAt = w.now.Add(-MaxAge - 1) }, func(s metrics.Snapshot) bool { return len(s.Readings) == 0 && s.Sources[metrics.FromReadings] }},
		"no readings":     {func(w *world) { w.readingsErr = errors.New("no answer") }, func(s metrics.Snapshot) bool { return len(s.Readings) == 0 && !s.Sources[metrics.FromReadings] }},
		"no kubelet":      {func(w *world) { w.podsErr = errors.New("no answer") }, func(s metrics.Snapshot) bool { return len(s.Users) == 1 && !s.Sources[metrics.FromKubelet] }},
		"no ledger":       {func(w *world) { w.leaseErr = errors.New("no answer") }, func(s metrics.Snapshot) bool { return len(s.Users) == 1 && !s.Sources[metrics.FromLeases] }},
		"neither of them": {func(w *world) { w.podsErr = errors.New("x"); w.leaseErr = w.podsErr }, func(s metrics.Snapshot) bool { return len(s.Users) == 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			w, e := newWorld(t)
			w.see(e, "a")
			e.Take()
			w.now = w.now.Add(time.Minute)
			w.readingsAt = w.now
			test.change(w)
			if s := e.Take(); !test.check(s) {
				t.Errorf("%+v", s)
			}
			w.now = w.now.Add(time.Minute)
			e.Take()
			if n := strings.Count(w.log.String(), "does not answer"); n > 2 {
				t.Errorf("log:\n%s", w.log.String())
			}
		})
	}
}

// TestLateReadings: a library that hangs delays no scrape for longer than the patience.
// Meanwhile the last readings count, until they are too old; late ones are for a later scrape,
// and nobody asks again before.
func TestLateReadings(t *testing.T) {
	w, e := newWorld(t)
	w.see(e, "a")
	e.Take()
	answer := e.sources.Readings
	hanging, done := make(chan struct{}), make(chan struct{})
	e.wait = time.Millisecond
	e.sources.Readings = func(ctx context.Context) (reader.Readings, error) {
		defer close(done)
		<-hanging
		if err := ctx.Err(); err != nil {
			t.Errorf("the question ended with the scrape: %v", err)
		}
		return answer(ctx)
	}
	for _, step := range []struct {
		after    time.Duration
		readings int
	}{{leastAge, 4}, {MaxAge - leastAge, 4}, {leastAge, 0}} {
		w.now = w.now.Add(step.after)
		if s := e.Take(); len(s.Readings) != step.readings || s.Sources[metrics.FromReadings] || len(s.Users) != 2 {
			t.Errorf("after %s: %+v", step.after, s)
		}
	}
	w.readingsAt = w.now
	close(hanging)
	<-done
	e.wait = time.Minute
	w.now = w.now.Add(leastAge)
	if s := e.Take(); len(s.Readings) != 4 || !s.Sources[metrics.FromReadings] || w.asked != 2 {
		t.Errorf("asked %d times: %+v", w.asked, s)
	}
}

// TestSilentReader: the GPUs of a reader that does not answer are unknown after some looks,
// and nothing else is said of them after some time.
func TestSilentReader(t *testing.T) {
	w, e := newWorld(t)
	if s := e.Take(); s.Sources[metrics.FromReader] || len(s.Health.GPUs) != 0 {
		t.Errorf("before the first report: %+v", s)
	}
	w.see(e, "a")
	seen := w.now
	for range health.DefaultRules.Failed {
		w.now = w.now.Add(5 * time.Second)
		w.silence(e)
	}
	s := e.Take()
	if diff := cmp.Diff([]string{health.Unknown}, conditions(s)); diff != "" || s.Sources[metrics.FromReader] || len(s.Node.GPUs) != 4 || !s.LookAt.Equal(seen) {
		t.Errorf("%+v %s", s, diff)
	}
	w.now = w.now.Add(MaxAge)
	if s := e.Take(); len(s.Node.GPUs) != 0 || len(s.Health.GPUs) != 4 {
		t.Errorf("%+v", s)
	}
	w.see(e, "b")
	w.now = w.now.Add(leastAge)
	if s := e.Take(); len(s.Node.GPUs) != 4 || !s.Sources[metrics.FromReader] {
		t.Errorf("%+v", s)
	}
}

// TestRules: a GPU is healthy by the rules that the plugin has, and one that is left out has
// no health.
func TestRules(t *testing.T) {
	w, e := newWorld(t)
	e.rules = Rules{Rules: health.Rules{Good: 2, Bad: 1, Failed: 1}, Exclude: []string{w.node.GPUs[1].BDF.String()}}
	see := func(token string, healthy bool) string {
		w.node.GPUs = slices.Clone(w.node.GPUs)
		w.node.GPUs[0].Healthy = healthy
		w.see(e, token)
		var words []string
		for _, c := range e.state.GPUs {
			words = append(words, c.Health)
		}
		return strings.Join(words[:1], " ") + ", " + strconv.Itoa(len(words))
	}
	for i, step := range []struct {
		healthy bool
		want    string
	}{{true, "healthy, 3"}, {false, "unhealthy, 3"}, {true, "unhealthy, 3"}, {true, "healthy, 3"}} {
		if got := see(strconv.Itoa(i), step.healthy); got != step.want {
			t.Errorf("look %d: %s, want %s", i, got, step.want)
		}
	}
}
