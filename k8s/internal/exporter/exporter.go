// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/exporter/metrics"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// Sources are what an Exporter asks at a scrape. Pods, Slices and Leases are nil where the
// node has no kubelet to ask, no directory of slice files, or no leases; all three on a host
// without Kubernetes, and Holders on a node of a cluster.
type Sources struct {
	Readings func(context.Context) (reader.Readings, error)
	// Holders returns who uses the GPUs of a host, as metax-ctk ps sees it.
	Holders func(context.Context) (lease.Report, error)
	Pods    func(context.Context) ([]podresources.Container, error)
	// Slices returns which devices of the kubelet slices, and GPUs that are given whole beside
	// slices, belong to, by their UUIDs.
	Slices func() (map[string]protocol.SliceFile, error)
	Leases func() ([]usage.Lease, error)
}

// Rules say which GPUs count as healthy, and which are left out.
type Rules struct {
	health.Rules          // whose Exclude does not matter
	Exclude      []string // indices, UUIDs or PCI addresses of GPUs
}

// Timeout bounds all questions of one scrape. It is below the scrape timeout of Prometheus,
// which is 10 s unless it is set.
const Timeout = 8 * time.Second

// MaxAge is how old readings may be, and for how long what a silent reader said counts.
const MaxAge = 30 * time.Second

// patience is how long a scrape waits for readings, which come from the vendor's library, and
// for the engines of a host. Later answers are for the next scrape, and until then the last
// ones count, unless they are too old.
const patience = time.Second

// leastAge is how long a Snapshot is used again, so that many scrapers do not make the
// vendor's software work.
const leastAge = time.Second

// Exporter knows the state of one node.
type Exporter struct {
	sources Sources
	rules   Rules
	log     *slog.Logger
	now     func() time.Time
	wait    time.Duration // patience

	mu     sync.Mutex // of what See writes
	report reader.Report
	silent time.Time // since when the reader has not answered; zero if it does
	state  health.State

	taking sync.Mutex // of what Take writes
	taken  metrics.Snapshot
	at     time.Time
	read   lasting[reader.Readings]
	held   lasting[lease.Report]
	failed map[string]string // source → why it failed, as it was logged
}

// New returns an Exporter that has not seen anything.
func New(sources Sources, rules Rules, log *slog.Logger) *Exporter {
	return &Exporter{
		sources: sources, rules: rules, log: log, now: time.Now, wait: patience, silent: time.Now(),
		failed: map[string]string{},
	}
}

// See takes note of a report, as reader.Client.Watch gives them: one with the token of the
// last one says that the reader does not answer.
func (e *Exporter) See(r reader.Report) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case r.Token != e.report.Token:
		e.silent = time.Time{}
	case e.silent.IsZero():
		e.silent = e.now()
	}
	e.report = r
	rules := e.rules.Rules
	rules.Exclude = r.Look.Keys(e.rules.Exclude)
	e.state, _ = e.state.Next(r.Look, rules)
}

// Take returns the state of the node now.
func (e *Exporter) Take() metrics.Snapshot {
	e.taking.Lock()
	defer e.taking.Unlock()
	if e.now().Sub(e.at).Abs() < leastAge {
		return e.taken
	}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	e.taken = e.take(ctx)
	e.at = e.now()
	return e.taken
}

func (e *Exporter) take(ctx context.Context) metrics.Snapshot {
	var asked sync.WaitGroup
	var pods []podresources.Container
	var slices map[string]protocol.SliceFile
	var leases []usage.Lease
	var readingsErr, heldErr, podsErr, slicesErr, leasesErr error
	asked.Go(func() { readingsErr = e.read.ask(ctx, e.wait, e.sources.Readings) })
	if e.sources.Holders != nil {
		asked.Go(func() { heldErr = e.held.ask(ctx, e.wait, e.sources.Holders) })
	}
	if e.sources.Pods != nil {
		asked.Go(func() { pods, podsErr = e.sources.Pods(ctx) })
	}
	if e.sources.Slices != nil {
		asked.Go(func() { slices, slicesErr = e.sources.Slices() })
	}
	if e.sources.Leases != nil {
		asked.Go(func() { leases, leasesErr = e.sources.Leases() })
	}
	asked.Wait()

	e.mu.Lock()
	s := metrics.Snapshot{
		Node: e.report.Node, Health: e.state, LookAt: e.report.At,
		Sources: map[string]bool{metrics.FromReader: e.silent.IsZero()},
	}
	silent := e.silent
	e.mu.Unlock()
	s.Users = metrics.UsersOf(s.Node, pods, slices, leases)
	s.SliceUsers = metrics.SliceUsersOf(pods, slices)
	if e.sources.Holders != nil {
		e.addHolders(&s, heldErr)
	}
	if !silent.IsZero() && e.now().Sub(silent) > MaxAge {
		s.Node = gpu.Node{} // of the GPUs, only that their health is unknown is still true
	}
	s.Sources[metrics.FromReadings] = e.answered(metrics.FromReadings, readingsErr)
	if e.now().Sub(e.read.last.At) <= MaxAge {
		s.Readings = readingsOf(e.read.last)
	}
	if e.sources.Pods != nil {
		s.Sources[metrics.FromKubelet] = e.answered(metrics.FromKubelet, podsErr)
	}
	if e.sources.Slices != nil {
		s.Sources[metrics.FromSlices] = e.answered(metrics.FromSlices, slicesErr)
	}
	if e.sources.Leases != nil {
		s.Sources[metrics.FromLeases] = e.answered(metrics.FromLeases, leasesErr)
	}
	return s
}

// addHolders adds the users of a host's GPUs, and which engines have answered.
func (e *Exporter) addHolders(s *metrics.Snapshot, err error) {
	report := e.held.last
	if e.now().Sub(report.Now) <= MaxAge {
		s.Users, s.SliceUsers = metrics.HostUsersOf(s.Node, report.Holders)
	}
	up := e.answered(metrics.FromLeases, err)
	s.Sources[metrics.FromLeases] = up
	if !up {
		return
	}
	errs := map[string]error{} // an engine may have several daemons
	for _, source := range ps.Sources(report.Looks) {
		if source.Status == ps.Absent {
			continue
		}
		err := errs[source.Engine]
		if source.Status != ps.OK {
			err = errors.New(source.Message)
		}
		errs[source.Engine] = err
	}
	for engine, err := range errs {
		s.Sources[engine] = e.answered(engine, err)
	}
}

// lasting is a source of which the last answer stays while another is late.
type lasting[T any] struct {
	call node.Bounded[T]
	last T
}

// ask asks, and waits for an answer. The error is node.ErrLate, or that of the source.
func (l *lasting[T]) ask(ctx context.Context, wait time.Duration, source func(context.Context) (T, error)) error {
	answer, err := l.call.Do(ctx, wait, func(ctx context.Context) (T, error) {
		return source(context.WithoutCancel(ctx)) // the scrape that asked may be over before the answer
	})
	if !errors.Is(err, node.ErrLate) {
		l.last = answer
	}
	return err
}

// answered logs why a source fails, when that begins or changes.
func (e *Exporter) answered(source string, err error) bool {
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != "" && why != e.failed[source] {
		e.log.Warn("a source does not answer", "source", source, "error", why)
	}
	e.failed[source] = why
	return err == nil
}

func readingsOf(r reader.Readings) []gpu.Reading {
	var all []gpu.Reading
	for _, g := range r.GPUs {
		all = append(all, g.Reading)
	}
	return all
}
