// SPDX-License-Identifier: Apache-2.0

// Package status answers what Kubernetes and Prometheus ask of a program: probes and metrics.
package status

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/metax-ctk/container-toolkit/k8s/internal/webserver"
)

// Serve answers /metrics unless metrics is nil, /healthz (the program runs) and /readyz at the
// address until ctx ends. The program is ready if ready returns nil; otherwise it returns why
// not.
func Serve(ctx context.Context, address string, metrics prometheus.Gatherer, ready func() error) error {
	if err := webserver.Serve(ctx, address, nil, Handler(metrics, ready)); err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// scrapes is how many answers with metrics are made at a time.
const scrapes = 4

// Handler returns the handler of Serve.
func Handler(metrics prometheus.Gatherer, ready func() error) http.Handler {
	mux := http.NewServeMux()
	if metrics != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes}))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}
