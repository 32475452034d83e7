// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// BenchmarkQuestions measures a question about nodes in random states, from the text to the
// text.
func BenchmarkQuestions(b *testing.B) {
	for _, size := range []int{100, 300, 1000, 5000} {
		c := newCluster()
		var names []string
		for _, n := range nodescoretest.Random(rand.New(rand.NewPCG(1, uint64(size))), size) {
			annotations, err := n.Annotations()
			if err != nil {
				b.Fatal(err)
			}
			if err := nodeStore(c).Add(object(n.Name, annotations)); err != nil {
				b.Fatal(err)
			}
			names = append(names, n.Name)
		}
		e := &Extender{Cluster: c, Ready: func() error { return nil }, MaxBody: 1 << 25, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry(), c)}
		h := e.Handler()
		for _, verb := range []string{"filter", "prioritize"} {
			b.Run(fmt.Sprintf("%s/%d", verb, size), func(b *testing.B) {
				body := question(b, 2, names...)
				if code, got := ask(h, verb, body); code != http.StatusOK {
					b.Fatal(got)
				}
				for b.Loop() {
					ask(h, verb, body)
				}
			})
		}
		b.Run(fmt.Sprintf("volcano/prioritize/%d", size), func(b *testing.B) {
			body := recorded(b, names)
			if code, got := ask(h, "volcano/prioritize", body); code != http.StatusOK {
				b.Fatal(got)
			}
			b.SetBytes(int64(len(body)))
			var took []float64
			for b.Loop() {
				began := time.Now()
				ask(h, "volcano/prioritize", body)
				took = append(took, float64(time.Since(began).Microseconds())/1000)
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)*99/100], "p99-ms")
		})
	}
}

// recorded is the recorded question of Volcano about nodes with these names, each as large as the
// recorded one that has a pod, which runs.
func recorded(b *testing.B, names []string) string {
	b.Helper()
	var q struct {
		Task  json.RawMessage   `json:"task"`
		Nodes []json.RawMessage `json:"nodes"`
	}
	if err := json.Unmarshal(testfile.Read(b, "../../protocol/foreign/testdata/volcano-prioritize.json"), &q); err != nil {
		b.Fatal(err)
	}
	node := strings.Replace(string(q.Nodes[1]), `"Status":2,`, `"Status":32,`, 1)
	q.Nodes = nil
	for _, name := range names {
		q.Nodes = append(q.Nodes, json.RawMessage(strings.Replace(node, `"Name":"gang"`, `"Name":"`+name+`"`, 1)))
	}
	text, err := json.Marshal(q)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}
