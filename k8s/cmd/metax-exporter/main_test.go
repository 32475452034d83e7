// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// serveReader starts a reader on a simulated node, and returns its socket.
func serveReader(t *testing.T, name string) string {
	t.Helper()
	at := node.Selector{Node: name}
	server := reader.NewServer(reader.Host{
		Look: at.Health, Discover: at.Load,
		Read: func(ctx context.Context, n gpu.Node) ([]gpu.Reading, string, error) { return at.Readings(ctx, n, 0) },
	}, reader.Schedule{Interval: time.Second}, slog.New(slog.DiscardHandler))
	socket := filepath.Join(t.TempDir(), "health.sock")
	go server.Run(t.Context())
	go server.Serve(t.Context(), socket)
	return socket
}

// TestProgram starts the program on a simulated node without a kubelet and asks for metrics
// until the first report is there.
func TestProgram(t *testing.T) {
	free := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(free.URL, "http://")
	free.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- newApp().RunContext(ctx, []string{
			"metax-exporter", "--address", address, "--health-socket", serveReader(t, "c500-8-degraded"),
			"--podresources-socket", filepath.Join(t.TempDir(), "absent"), "--lease-dir", t.TempDir(), "--log-dir=",
		})
	}()
	want := []string{
		`metax_exporter_source_up{source="reader"} 1`,
		`metax_exporter_source_up{source="readings"} 1`,
		`metax_exporter_source_up{source="leases"} 1`,
		`metax_exporter_source_up{source="podresources"} 0`,
		"metax_gpus 8",
		`code="vendor"`,
		"metax_gpu_links_lost{", "metax_gpu_power_watts{",
	}
	var text string
	for range 300 {
		text = get("http://" + address + "/metrics")
		if strings.Contains(text, "metax_gpus") && strings.Contains(text, `{source="readings"} 1`) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, line := range want {
		if !strings.Contains(text, line) {
			t.Errorf("no %s in\n%s", line, text)
		}
	}
	if got := get("http://" + address + "/healthz"); got != "ok\n" {
		t.Errorf("/healthz answers %q", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func get(address string) string {
	answer, err := http.Get(address)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}
