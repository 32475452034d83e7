// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
	"github.com/metax-ctk/container-toolkit/k8s/internal/status"
)

// serve is an Extender of a cluster with a node for each state: a domain, half of two domains,
// one GPU, and without annotations.
func serve(t testing.TB) (*Extender, http.Handler, *prometheus.Registry) {
	t.Helper()
	c := newCluster()
	if err := nodeStore(c).Replace([]any{
		c500(t, "domain", 1, 0, 1, 2, 3), c500(t, "halves", 1, 0, 1, 4, 5), c500(t, "one", 1, 0), object("bare", nil),
	}, ""); err != nil {
		t.Fatal(err)
	}
	// As many GPUs as are not free.
	if err := podStore(c).Replace([]any{pod("a", "domain", 4, true), pod("b", "halves", 4, true), pod("c", "one", 7, true)}, ""); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	e := &Extender{Cluster: c, Ready: func() error { return nil }, MaxBody: 1 << 16, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(registry, c)}
	return e, e.Handler(), registry
}

func question(t testing.TB, gpus int, names ...string) string {
	t.Helper()
	text, err := json.Marshal(foreign.ExtenderArgs{Pod: pod("new", "", gpus, false), NodeNames: &names})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func ask(h http.Handler, verb, body string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/"+verb, strings.NewReader(body)))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestHandler(t *testing.T) {
	e, h, registry := serve(t)
	nodes := func(list ...*corev1.Node) string {
		text, err := json.Marshal(map[string]any{"Pod": pod("new", "", 4, false), "Nodes": map[string]any{"metadata": nil, "items": list}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	object := func(name string) *corev1.Node { n := &corev1.Node{}; n.Name = name; return n }
	raw := func(name string) string {
		text, _ := json.Marshal(object(name))
		return string(text)
	}
	few := `"one":"4 GPUs requested, but only 1 of 8 GPUs are free and healthy"`
	for _, c := range []struct {
		name, verb, body string
		code             int
		want             string
	}{
		{"filter", "filter", question(t, 4, "one", "domain", "bare", "halves", "new"), 200, `{"NodeNames":["domain","bare","halves","new"],"FailedNodes":{` + few + `}}`},
		{"filter, never", "filter", question(t, 9, "domain"), 200, `{"NodeNames":[],"FailedAndUnresolvableNodes":{"domain":"9 GPUs requested, but this node has only 8"}}`},
		{"filter, nodes", "filter", nodes(object("one"), object("domain")), 200, `{"Nodes":{"items":[` + raw("domain") + `]},"FailedNodes":{` + few + `}}`},
		{"filter, no GPU", "filter", question(t, 0, "one", "x"), 200, `{"NodeNames":["one","x"]}`},
		{"prioritize", "prioritize", question(t, 4, "halves", "one", "domain", "bare", "new"), 200, `[{"Host":"halves","Score":9},{"Host":"one","Score":0},{"Host":"domain","Score":10},{"Host":"bare","Score":0},{"Host":"new","Score":0}]`},
		{"prioritize, nodes", "prioritize", nodes(object("halves"), object("domain")), 200, `[{"Host":"halves","Score":9},{"Host":"domain","Score":10}]`},
		{"prioritize, no GPU", "prioritize", question(t, 0, "halves"), 200, `[{"Host":"halves","Score":0}]`},
		{"prioritize, none", "prioritize", question(t, 4), 200, `[]`},
		{"nonsense", "filter", "{", 400, "invalid question of a scheduler: it is not JSON"},
		{"no pod", "prioritize", "{}", 400, "invalid question of a scheduler: it has no pod"},
		{"too large", "filter", question(t, 4, strings.Repeat("x", 1<<17)), 413, "the question is too large: raise --max-body, or set nodeCacheCapable to true for kube-scheduler"},
		{"another verb", "bind", "{}", 404, "404 page not found"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, got := ask(h, c.verb, c.body)
			if code != c.code || got != c.want {
				t.Errorf("got  %d %s\nwant %d %s", code, got, c.code, c.want)
			}
		})
	}
	e.Weigh(protocol.Weights{Loss: 1})
	if _, got := ask(h, "prioritize", question(t, 1, "domain", "halves", "one")); got != `[{"Host":"domain","Score":8},{"Host":"halves","Score":9},{"Host":"one","Score":10}]` {
		t.Errorf("by weights: %s", got)
	}
	e.Ready = func() error { return errors.New("not yet") }
	if code, got := ask(h, "filter", question(t, 1, "domain")); code != http.StatusServiceUnavailable || got != "not yet" {
		t.Errorf("before it is ready: %d %s", code, got)
	}
	w := httptest.NewRecorder()
	status.Handler(registry, e.Ready).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		`metax_gpu_aware_questions_total{result="ok",verb="filter"} 4`, `metax_gpu_aware_questions_total{result="error",verb="filter"} 3`,
		`metax_gpu_aware_answer_seconds_count{verb="prioritize"} 5`, `metax_gpu_aware_refused_nodes_total 3`,
		`metax_gpu_aware_judged_nodes_total{by="key"} 7`, `metax_gpu_aware_nodes 4`, `metax_gpu_aware_node_problems{problem="missing"} 1`,
		`metax_gpu_aware_recent_pods 0`, `metax_gpu_aware_config_problems 0`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("no line %s in\n%s", line, w.Body.String())
		}
	}
}

// TestHandlerFull: a question waits for a second until others are answered, and then gets an
// error.
func TestHandlerFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, h, _ := serve(t)
		block := make(chan struct{})
		e.Ready = func() error { <-block; return nil }
		body := question(t, 1, "domain")
		for range maxPlaces {
			go ask(h, "filter", body)
		}
		synctest.Wait()
		if code, got := ask(h, "filter", body); code != http.StatusServiceUnavailable || got != errBusy.Error() {
			t.Errorf("%d %s", code, got)
		}
		time.AfterFunc(placeTime/2, func() { close(block) })
		if code, got := ask(h, "filter", body); code != http.StatusOK {
			t.Errorf("after half a second: %d %s", code, got)
		}
	})
}

// TestHandlerSlow has clients that send most of a question and no more. They take nobody's
// place, and when they have all of the memory, those that are slow for the longest time have
// to go.
func TestHandlerSlow(t *testing.T) {
	e, h, _ := serve(t)
	server := httptest.NewServer(h)
	defer server.Close()
	const many = 2 * maxBuffered
	ended := make(chan int, many)
	for range many {
		from, to := io.Pipe()
		defer to.Close()
		go func() {
			answer, err := http.Post(server.URL+"/filter", "", from)
			if err != nil {
				ended <- 0 // the connection is closed
				return
			}
			answer.Body.Close()
			ended <- answer.StatusCode
		}()
		if _, err := to.Write(bytes.Repeat([]byte(" "), int(e.MaxBody)-1)); err != nil {
			t.Log(err) // it had to go already
		}
	}
	for range many - maxBuffered {
		if code := <-ended; code != http.StatusServiceUnavailable && code != 0 {
			t.Errorf("a slow question is answered with %d", code)
		}
	}
	answer, err := http.Post(server.URL+"/filter", "", strings.NewReader(question(t, 1, "domain")))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("beside slow questions: %s", answer.Status)
	}
}
