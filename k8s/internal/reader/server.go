// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/node"
)

// waitTimeout is how long a request for a newer Report is kept waiting.
const waitTimeout = 30 * time.Second

// callTimeout bounds each call of a function of a Host: ten seconds each for metax-mxsml and
// mx-smi, and the end of each.
const callTimeout = 30 * time.Second

// Host is what a Server asks; the methods of a node.Selector fit.
type Host struct {
	Look     func(context.Context) (health.Look, error)
	Discover func(context.Context) (gpu.Node, error)
	// MACA is the MXMACA of the host now, which changes without a change of the GPUs; nil
	// takes what Discover found.
	MACA func() *gpu.MACA
	Read func(context.Context, gpu.Node) (readings []gpu.Reading, source string, err error)
	// Slices makes a Change, and returns the node afterwards; nil where slices are not
	// changed.
	Slices func(context.Context, Change) (gpu.Node, error)
}

// Server takes looks, and answers requests from the last of them.
type Server struct {
	host     Host
	schedule Schedule
	log      *slog.Logger
	name     string // of this run, in tokens

	mu     sync.Mutex
	report Report
	newer  chan struct{} // closed when there is a newer report

	changing sync.Mutex // slices

	reading  chan struct{} // holds one item while nobody reads
	readings node.Bounded[Readings]
}

// NewServer returns a Server, which takes no look before Run.
func NewServer(h Host, s Schedule, log *slog.Logger) *Server {
	s.again = make(chan struct{}, 1)
	server := &Server{
		host: h, schedule: s, log: log, name: rand.Text(), newer: make(chan struct{}),
		reading: make(chan struct{}, 1),
	}
	server.reading <- struct{}{}
	return server
}

// Run takes looks until the context ends.
func (s *Server) Run(ctx context.Context) {
	looker := node.Looker{Take: s.host.Look, Timeout: callTimeout}
	finder := finder{discover: s.host.Discover}
	for number := 1; ; number++ {
		look, err := looker.Look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, discover.ErrNoGPU):
			look = health.Look{}
		case err != nil:
			look = health.Look{Failed: err.Error()}
		}
		n, err := finder.currentNode(ctx, look, time.Now())
		if err != nil && ctx.Err() == nil {
			s.log.Warn("the node could not be discovered", "error", err.Error())
		}
		if s.host.MACA != nil {
			n.MACA = s.host.MACA()
		}
		if failed := s.publish(number, n, look); failed {
			s.log.Warn("the look at the GPUs failed", "error", look.Failed)
		}
		event, ok := s.schedule.waitForLook(ctx)
		if !ok {
			return
		}
		finder.again = finder.again || event
	}
}

// Node returns the node of the newest report; the zero Node before the first.
func (s *Server) Node() gpu.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report.Node
}

// publish makes a report the newest, and reports whether its look failed for a new reason.
func (s *Server) publish(number int, n gpu.Node, look health.Look) (failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed = look.Failed != "" && look.Failed != s.report.Look.Failed
	s.report = Report{Token: fmt.Sprintf("%s-%d", s.name, number), At: time.Now().UTC(), Node: n, Look: look}
	close(s.newer)
	s.newer = make(chan struct{})
	return failed
}

// Handler answers requests. It can be used while Run runs.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/look", s.serveLook)
	mux.HandleFunc("GET /v1/readings", s.serveReadings)
	if s.host.Slices != nil {
		mux.HandleFunc("POST /v1/slices", s.serveSlices)
	}
	return mux
}

// Watch calls see with each new Report, and returns at the end of the context. It is what
// Client.Watch is for another process.
func (s *Server) Watch(ctx context.Context, see func(Report)) {
	for after := ""; ; {
		report, err := s.awaitReport(ctx, after)
		if err != nil {
			return
		}
		after = report.Token
		see(report)
	}
}

// awaitReport returns the newest report once it is not the one with the token. The error is
// that of the context.
func (s *Server) awaitReport(ctx context.Context, after string) (Report, error) {
	for {
		s.mu.Lock()
		report, newer := s.report, s.newer
		s.mu.Unlock()
		if report.Token != "" && report.Token != after {
			return report, nil
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return Report{}, ctx.Err()
		}
	}
}

func (s *Server) serveLook(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), waitTimeout)
	defer cancel()
	report, err := s.awaitReport(ctx, r.URL.Query().Get("after"))
	if err != nil {
		w.WriteHeader(http.StatusNotModified) // which nobody reads if the client is gone
		return
	}
	writeJSON(w, report)
}

// errReading reports that another question for readings is not answered yet.
var errReading = errors.New("another request is reading the GPUs")

// Readings reads the GPUs. One call does so at a time, and the others wait.
func (s *Server) Readings(ctx context.Context) (Readings, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case <-s.reading:
		defer func() { s.reading <- struct{}{} }()
	case <-ctx.Done():
		return Readings{}, errReading
	}
	n := s.Node()
	// A reading that is late is for the next call, so this one must not end it.
	return s.readings.Do(context.WithoutCancel(ctx), callTimeout, func(ctx context.Context) (Readings, error) {
		all, source, err := s.host.Read(ctx, n)
		result := Readings{At: time.Now().UTC(), Source: source, GPUs: []Reading{}}
		for _, g := range all {
			result.GPUs = append(result.GPUs, Reading{g.BDF, g})
		}
		return result, err
	})
}

func (s *Server) serveReadings(w http.ResponseWriter, r *http.Request) {
	read, err := s.Readings(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, read)
}

func writeJSON(w http.ResponseWriter, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that is gone
}
