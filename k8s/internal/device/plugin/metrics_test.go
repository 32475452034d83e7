// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/status"
)

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	server := &Server{}
	m := NewMetrics(registry, server.Registered)
	handler := status.Handler(registry, func() error {
		if !server.Registered() {
			return errors.New("not registered")
		}
		return nil
	})
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	if code, _ := get("/healthz"); code != http.StatusOK {
		t.Errorf("/healthz answers %d", code)
	}
	if code, _ := get("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d before registration", code)
	}
	m.SetDevices([]inventory.Device{{ID: "a", Healthy: true}, {ID: "b", Code: "vendor"}, {ID: "c", Code: "vendor"}, {ID: "d"}})
	m.SetDevices([]inventory.Device{{ID: "a", Healthy: true}, {ID: "b", Code: "pci-link"}, {ID: "c"}})
	m.guessed(true)
	m.guessed(false)
	m.guessed(false)
	m.fallback()
	m.allocated(nil)
	m.allocated(lease.ErrNoState)
	m.allocated(&lease.PodError{})
	server.registered.Store(true)
	if code, _ := get("/readyz"); code != http.StatusOK {
		t.Errorf("/readyz answers %d after registration", code)
	}
	_, text := get("/metrics")
	for _, line := range []string{
		`metax_gpu_device_registered 1`, `metax_gpu_device_devices 3`,
		`metax_gpu_device_unhealthy{reason="pci-link"} 1`, `metax_gpu_device_unhealthy{reason="unknown"} 1`,
		`metax_gpu_device_pod_guesses_total{result="hit"} 1`, `metax_gpu_device_pod_guesses_total{result="miss"} 2`,
		`metax_gpu_device_preference_fallbacks_total 1`,
		`metax_gpu_device_allocations_total{result="error"} 0`, `metax_gpu_device_allocations_total{result="ok"} 1`,
		`metax_gpu_device_allocations_total{result="leased"} 2`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	if strings.Contains(text, `reason="vendor"`) {
		t.Error("a reason of nobody is still there")
	}
}
