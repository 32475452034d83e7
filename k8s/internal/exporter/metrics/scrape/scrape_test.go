// SPDX-License-Identifier: Apache-2.0

package scrape

import (
	"context"
	"log/slog"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/holders/podresources"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/exporter"
	"github.com/metax-ctk/container-toolkit/k8s/internal/exporter/metrics"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// TestScrape starts Prometheus on four simulated nodes: one whose GPUs are in use, one with
// everything wrong that an alert is about, one with slices, and one whose reader does not
// answer.
func TestScrape(t *testing.T) {
	bin := fetched(t)
	nodes := map[string]string{
		"gpu-good": working.serve(t, "gpu-good"), "gpu-bad": broken.serve(t, "gpu-bad"), "gpu-sliced": sliced.serve(t, "gpu-sliced"),
		"gpu-silent": simulation{node: "c500-1", silent: true}.serve(t, "gpu-silent"),
	}
	at := start(t, filepath.Join(bin, "prometheus"), nodes)
	check(t, filepath.Join(bin, "promtool"), slices.Collect(maps.Values(nodes))...)
	queries := dashboardQueries(t)
	maps.Copy(queries, alertQueries(t))
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		t.Run(name, func(t *testing.T) {
			if len(at.query(t, queries[name])) == 0 {
				t.Errorf("no series: %s", queries[name])
			}
		})
	}
	vendorQueries(t, at)
	for query, want := range map[string]string{
		`count(metax_gpu_healthy{node="gpu-silent"}) or vector(0)`:                   "0",
		`count(metax_gpu_healthy{node="gpu-good"})`:                                  "8",
		`count(metax_gpu_healthy{node="gpu-good", namespace="team-a", pod="train"})`: "4",
		// The exporter's own pod is not taken for the user of a GPU without one.
		`count(metax_gpu_healthy{node="gpu-good", pod=""})`:         "4",
		`sum(metax_gpu_memory_total_bytes{node="gpu-good"}) / 2^30`: "512",
	} {
		if got := at.query(t, query); len(got) != 1 || got[0].Value[1] != want {
			t.Errorf("%s is %v, want %s", query, got, want)
		}
	}
}

// simulation is a node with what its sources answer.
type simulation struct {
	node   string // of package sim
	silent bool   // the reader does not answer
	look   func(looks int, l *health.Look)
	read   func(reads int, all []gpu.Reading)
	pods   func(gpu.Node) []podresources.Container
	leases func(gpu.Node) []usage.Lease
	slices map[string]protocol.SliceFile
}

// working is a node on which a pod has four GPUs, and a lease another.
var working = simulation{
	node: "c500-8",
	pods: func(n gpu.Node) []podresources.Container {
		var ids []string
		for _, g := range n.GPUs[:4] {
			ids = append(ids, string(g.UUID))
		}
		return []podresources.Container{{Namespace: "team-a", Pod: "train", Name: "main", Devices: map[string][]string{"metax-tech.com/gpu": ids}}}
	},
	read: func(reads int, all []gpu.Reading) {
		all[0].Counters = append(all[0].Counters, gpu.Counter{Kind: gpu.CountRAS, Type: gpu.Corrected, Name: "MC reg3", Value: 2}, gpu.Counter{Kind: gpu.LogEID, Name: "device array empty", Value: 0x2202}, gpu.Counter{Kind: gpu.CountLog, Type: "ERROR", Name: "SMI", Value: float64(reads)})
		for _, p := range all[0].Ports { // of which the values of the first are those of the last look
			p.Measures[gpu.PortTxBytes], p.Measures[gpu.PortRxBytes] = float64(1000*reads), float64(2000*reads)
		}
	},
	leases: func(n gpu.Node) []usage.Lease {
		return []usage.Lease{{ID: "0123456789ab", GPUs: []gpu.BDF{n.GPUs[5].BDF}}}
	},
}

// sliced is a node on which a pod has a slice of GPU 2.
var sliced = simulation{
	node: "c500-8-sgpu",
	pods: func(n gpu.Node) []podresources.Container {
		return []podresources.Container{{Namespace: "team-a", Pod: "infer", Name: "main", Devices: map[string][]string{"metax-tech.com/sgpu": {"some-sgpu0"}}}}
	},
	slices: map[string]protocol.SliceFile{slicedNode.GPUs[2].Slices[0].UUID: {ID: "some-sgpu0"}},
}

var slicedNode, _ = sim.Node("c500-8-sgpu")

// broken is a node with a lost link and an unhealthy GPU, on which another is hot and has
// memory errors, and looks fail after the first.
var broken = simulation{
	node: "c500-8-degraded",
	look: func(looks int, l *health.Look) {
		if looks > 1 {
			l.Failed = "no answer"
		}
	},
	read: func(reads int, all []gpu.Reading) {
		*all[0].TemperatureC = 95
		all[0].ECC.DRAMUncorrected = uint32(reads)
	},
}

// serve starts a reader, an exporter and a device plugin that the kubelet does not follow, and
// returns the address of their metrics.
func (s simulation) serve(t *testing.T, name string) string {
	t.Helper()
	at := node.Selector{Node: s.node}
	n, err := at.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := reader.NewClient(s.reader(t, at))
	sources := exporter.Sources{Readings: client.Readings}
	sources.Pods = func(context.Context) ([]podresources.Container, error) {
		if s.pods == nil {
			return nil, nil
		}
		return s.pods(n), nil
	}
	if s.slices != nil {
		sources.Slices = func() (map[string]protocol.SliceFile, error) { return s.slices, nil }
	}
	sources.Leases = func() ([]usage.Lease, error) {
		if s.leases == nil {
			return nil, nil
		}
		return s.leases(n), nil
	}
	e := exporter.New(sources, exporter.Rules{Rules: health.DefaultRules}, slog.New(slog.DiscardHandler))
	go client.Watch(t.Context(), e.See)

	r := prometheus.NewRegistry()
	r.MustRegister(metrics.Collector{Take: e.Take, Hostname: name})
	plugin.NewMetrics(r, new(plugin.Server).Registered)
	server := httptest.NewServer(promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 2}))
	t.Cleanup(server.Close)
	return server.URL
}

// reader starts a reader and returns its socket.
func (s simulation) reader(t *testing.T, at node.Selector) string {
	socket := filepath.Join(t.TempDir(), "health.sock")
	if s.silent {
		return socket
	}
	looks, reads := 0, 0
	server := reader.NewServer(reader.Host{
		Look: func(ctx context.Context) (health.Look, error) {
			l, err := at.Health(ctx)
			if looks++; s.look != nil {
				s.look(looks, &l)
			}
			return l, err
		},
		Discover: at.Load,
		Read: func(ctx context.Context, n gpu.Node) ([]gpu.Reading, string, error) {
			all, source, err := at.Readings(ctx, n, 0)
			if reads++; s.read != nil {
				s.read(reads, all)
			}
			return all, source, err
		},
	}, reader.Schedule{Interval: 100 * time.Millisecond}, slog.New(slog.DiscardHandler))
	go server.Run(t.Context())
	go server.Serve(t.Context(), socket)
	return socket
}
