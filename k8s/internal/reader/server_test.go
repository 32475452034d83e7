// SPDX-License-Identifier: Apache-2.0

package reader

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

var quiet = slog.New(slog.DiscardHandler)

// fake is a host whose node can change, and whose vendor's software can hang.
type fake struct {
	mu          sync.Mutex
	node        gpu.Node
	err         error
	hang        chan struct{} // looks wait for it; nil lets them go on
	discoveries int
}

func (f *fake) host() Host {
	return Host{
		Look: func(ctx context.Context) (health.Look, error) {
			if f.hang != nil {
				<-f.hang
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			return health.FromNode(f.node), f.err
		},
		Discover: func(context.Context) (gpu.Node, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.discoveries++
			return f.node, f.err
		},
		Read: func(_ context.Context, n gpu.Node) ([]gpu.Reading, string, error) {
			if f.hang != nil {
				<-f.hang
			}
			return sim.Readings(n, 0), "mx-smi", nil
		},
	}
}

// change changes the host between two looks.
func (f *fake) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// discovered is how often the node was discovered.
func (f *fake) discovered() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.discoveries
}

// ask asks a Server's Handler.
func ask(t *testing.T, s *Server, path string) (int, []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.Bytes()
}

func look(t *testing.T, s *Server, after string) Report {
	t.Helper()
	code, text := ask(t, s, "/v1/look?after="+after)
	for code == http.StatusNotModified {
		code, text = ask(t, s, "/v1/look?after="+after)
	}
	if code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	r, err := decodeReport(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMACA: another MXMACA is seen at the next look, without another discovery.
func TestMACA(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fake{node: report(t, "c500-8").Node}
		host, version := f.host(), "3.8.0.1"
		host.MACA = func() *gpu.MACA {
			f.mu.Lock()
			defer f.mu.Unlock()
			return &gpu.MACA{Version: version}
		}
		s := NewServer(host, Schedule{Interval: 5 * time.Second}, quiet)
		go s.Run(ctx)
		first := look(t, s, "")
		f.change(func() { version = "3.9.0.2" })
		second := look(t, s, first.Token)
		if got := first.Node.MACA.Version + " " + second.Node.MACA.Version; got != "3.8.0.1 3.9.0.2" || f.discovered() != 1 {
			t.Errorf("%s, %d discoveries", got, f.discovered())
		}
		cancel()
		synctest.Wait()
	})
}

func TestServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fake{node: report(t, "c500-8").Node}
		s := NewServer(f.host(), Schedule{Interval: 5 * time.Second}, quiet)
		go s.Run(ctx)
		first := look(t, s, "")
		if diff := cmp.Diff(f.node, first.Node); diff != "" || len(first.Look.Readings) != 8 {
			t.Errorf("%s, %d readings", diff, len(first.Look.Readings))
		}
		second := look(t, s, first.Token)
		if second.Token == first.Token || second.At.Sub(first.At) != 5*time.Second {
			t.Errorf("%s at %s after %s at %s", second.Token, second.At, first.Token, first.At)
		}
		if f.discovered() != 1 {
			t.Errorf("%d discoveries of a node that looks the same", f.discovered())
		}
		f.change(func() { f.node.GPUs, f.node.Links = f.node.GPUs[:7:7], nil })
		if third := look(t, s, second.Token); len(third.Node.GPUs) != 7 || f.discovered() != 2 {
			t.Errorf("%d GPUs after %d discoveries", len(third.Node.GPUs), f.discovered())
		}
		f.change(func() { f.err = errors.New("broken") })
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if r := look(t, s, ""); r.Look.Failed != "broken" || len(r.Node.GPUs) != 7 {
			t.Errorf("%+v", r)
		}
		f.change(func() { f.err = discover.ErrNoGPU })
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if r := look(t, s, ""); r.Look.Failed != "" || len(r.Look.Readings) != 0 || len(r.Node.GPUs) != 0 {
			t.Errorf("%+v", r)
		}
		cancel()
	})
}

// TestServerHangs: a vendor's tool that hangs makes looks fail, and no answer hangs.
func TestServerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fake{node: report(t, "c500-8").Node, hang: make(chan struct{})}
		s := NewServer(f.host(), Schedule{Interval: 5 * time.Second}, quiet)
		go s.Run(ctx)
		began := time.Now()
		if r := look(t, s, ""); r.Look.Failed != "no answer within 30s" || time.Since(began) > callTimeout {
			t.Errorf("%+v after %s", r.Look, time.Since(began))
		}
		for range 2 {
			if code, text := ask(t, s, "/v1/readings"); code != http.StatusServiceUnavailable || !strings.Contains(string(text), "no answer in time") {
				t.Errorf("%d %s", code, text)
			}
		}
		token := look(t, s, "").Token
		close(f.hang)
		if r := look(t, s, token); r.Look.Failed != "" {
			r = look(t, s, r.Token) // the one that was on its way
			if r.Look.Failed != "" {
				t.Errorf("%+v", r.Look)
			}
		}
		code, text := ask(t, s, "/v1/readings")
		if r, err := decodeReadings(text); err != nil || code != http.StatusOK || r.Source != "mx-smi" || len(r.GPUs) != 8 {
			t.Errorf("%d %v %s", code, err, text)
		}
		cancel()
	})
}

// TestNoInterval: without an interval there is one look, and several after an event.
func TestNoInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		events := make(chan struct{}, 1)
		f := &fake{node: report(t, "c500-1").Node}
		s := NewServer(f.host(), Schedule{Events: events}, quiet)
		go s.Run(ctx)
		first := look(t, s, "")
		if code, _ := ask(t, s, "/v1/look?after="+first.Token); code != http.StatusNotModified {
			t.Errorf("answer %d", code)
		}
		events <- struct{}{}
		began, token := time.Now(), first.Token
		for range looksAfterEvent {
			token = look(t, s, token).Token
		}
		if took := time.Since(began); took != gather+(looksAfterEvent-1)*pauseAfterEvent || f.discovered() != 2 {
			t.Errorf("looks took %s, %d discoveries", took, f.discovered())
		}
		if code, _ := ask(t, s, "/v1/look?after="+token); code != http.StatusNotModified {
			t.Errorf("answer %d", code)
		}
		cancel()
	})
}

// TestClient asks a Server over its socket, which goes away and comes back.
func TestClient(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	testfile.Write(t, filepath.Join(filepath.Dir(socket), "other"), "", 0o600)
	f := &fake{node: report(t, "c500-8").Node}
	serve := func() (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		s := NewServer(f.host(), Schedule{Interval: 10 * time.Millisecond}, quiet)
		done := make(chan error, 1)
		go s.Run(ctx)
		go func() { done <- s.Serve(ctx, socket) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	c := NewClient(socket)
	c.again, c.least = time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var good, failed atomic.Int64
	last := make(chan Report, 1)
	go c.Watch(ctx, func(r Report) {
		if r.Look.Failed != "" {
			failed.Add(1)
		} else {
			good.Add(1)
		}
		select {
		case <-last:
		default:
		}
		last <- r
	})
	until := func(what string, cond func() bool) {
		t.Helper()
		for !cond() {
			if t.Context().Err() != nil {
				t.Fatal(what)
			}
			time.Sleep(time.Millisecond)
		}
	}
	until("failed", func() bool { return failed.Load() > 2 })
	stop := serve()
	until("good", func() bool { return good.Load() > 2 })
	readings, err := c.Readings(ctx)
	if err != nil || len(readings.GPUs) != 8 || readings.GPUs[7].Reading.BDF != f.node.GPUs[7].BDF {
		t.Errorf("%v: %+v", err, readings)
	}
	stop()
	before := failed.Load()
	until("failed again", func() bool { return failed.Load() > before+2 })
	if r := <-last; len(r.Node.GPUs) != 8 || r.Token == "" || !strings.Contains(r.Look.Failed, "the reader of GPU health does not answer: ") {
		t.Errorf("%+v", r)
	}
	stop = serve()
	defer stop()
	now := good.Load()
	until("good again", func() bool { return good.Load() > now+2 })
}

// TestClientDistrusts: whatever a reader answers, it is an error and not more.
func TestClientDistrusts(t *testing.T) {
	n := text(t, report(t, "c500-1"))
	for name, serve := range map[string]http.HandlerFunc{
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"not JSON":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"an error":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no\x1b", http.StatusInternalServerError) },
		"the same":  func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(n) },
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) },
		"hangs up":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"never ends": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<20))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			server := httptest.NewUnstartedServer(serve)
			listener, err := listen(socket)
			if err != nil {
				t.Fatal(err)
			}
			server.Listener.Close()
			server.Listener = listener
			server.Start()
			defer server.Close()
			if r, err := NewClient(socket).Look(t.Context(), "a-1"); err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
