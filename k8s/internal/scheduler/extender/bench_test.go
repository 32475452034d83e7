// SPDX-License-Identifier: Apache-2.0

package extender

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
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
			if err := (nodeStore{c}).Add(object(n.Name, annotations)); err != nil {
				b.Fatal(err)
			}
			names = append(names, n.Name)
		}
		e := &Extender{Cluster: c, Ready: func() error { return nil }, MaxBody: 1 << 24, Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry(), c)}
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
	}
}
