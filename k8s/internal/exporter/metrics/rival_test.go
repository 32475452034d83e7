// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/test/golden"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
	"github.com/metax-ctk/container-toolkit/test/testfile"
	"github.com/metax-ctk/container-toolkit/test/vendorlib"
)

// exporterVar names a checkout of the vendor's exporter with its library in dep.
const exporterVar = "METAX_TEST_MXEXPORTER"

// recorded are the hosts with a recorded answer of the vendor's exporter, and the GPUs that
// are in it.
var recorded = map[string][]int{"c500-8": {0}, "inactive": {3}, "busy": {0, 7}}

// TestVendor: each series that the vendor's exporter 2.2.11 prints for a GPU of a host is
// there, with the same value, and no other with its names. The exporter's answers are in
// testdata; with a checkout of it, it runs as root over each host, ours beside it, neither of
// which changes what the other says, and -update writes its answers.
func TestVendor(t *testing.T) {
	for _, h := range vendorlib.Hosts(t, standin.SMI(t)) {
		gpus, ok := recorded[h.Name]
		if !ok {
			continue
		}
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			root := simtest.Write(t, h.Tree)
			run := func(ctx context.Context, path string, args ...string) ([]byte, error) {
				return exec.CommandContext(ctx, path, args...).Output()
			}
			host := discover.Host{Root: root, Run: run}
			n, err := host.Discover(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			serve := func() map[string]float64 {
				look, err := host.Health(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				readings, late := layout.Fill(root, n, nil)
				if late != nil {
					t.Fatal(late)
				}
				state, _ := health.State{}.Next(look, health.DefaultRules)
				return ofGPUs(t, textFor(t, Snapshot{Node: n, Health: state, Readings: readings}, "node-1"))
			}
			ours := serve()

			file := filepath.Join("testdata", "vendor-"+h.Name+".prom")
			of := func(s map[string]float64) map[string]float64 {
				s = maps.Clone(s)
				maps.DeleteFunc(s, func(name string, _ float64) bool {
					return !slices.ContainsFunc(gpus, func(i int) bool { return strings.Contains(name, string(n.GPUs[i].UUID)) })
				})
				return s
			}
			if checkout := os.Getenv(exporterVar); checkout != "" {
				theirs := ofGPUs(t, scrape(t, checkout, root.Dir(), func() {
					if diff := cmp.Diff(ours, serve()); diff != "" {
						t.Errorf("series beside the vendor's exporter (-alone +beside it):\n%s", diff)
					}
				}))
				if diff := cmp.Diff(theirs, ours); diff != "" {
					t.Errorf("series (-vendor +ours):\n%s", diff)
				}
				if *golden.Update {
					writeSeries(t, file, of(theirs))
				}
				theirs = of(theirs)
				if diff := cmp.Diff(series(t, read(t, file)), theirs); diff != "" {
					t.Errorf("the exporter answers otherwise than in %s (-recorded +now):\n%s", file, diff)
				}
			}
			if diff := cmp.Diff(series(t, read(t, file)), of(ours)); diff != "" {
				t.Errorf("series (-recorded +ours):\n%s", diff)
			}
		})
	}
}

// scrape runs the vendor's exporter over a tree until it has measured, which its own pauses
// delay by half a minute; meanwhile it calls beside again and again.
func scrape(t *testing.T, checkout, tree string, beside func()) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	counters := filepath.Join(t.TempDir(), "counters.csv")
	given := read(t, filepath.Join(checkout, "mx_exporter/default-counters.csv"))
	// Its list, and the slices, which are comments there.
	all := regexp.MustCompile(`(?m)^#(sgpu_\w+,Gauge,)`).ReplaceAllString(given, "$1")
	testfile.Write(t, counters, all, 0o600)
	cmd := vendorlib.Over(ctx, tree, t.TempDir(), "/usr/bin/python3", "-B", "-m", "mx_exporter", "-p", port, "-i", "60000", "-c", counters)
	cmd.Env = append(os.Environ(), "HOSTNAME=node-1", "PYTHONPATH="+checkout+":"+checkout+"/dep")
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		cancel()
		<-ended
	}()
	for {
		beside()
		if res, err := http.Get("http://127.0.0.1:" + port + "/metrics"); err == nil {
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err == nil && strings.Contains(string(body), "\nmx_pcie_bridge_width{") {
				return string(body)
			}
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the vendor's exporter: %v\n%s", err, log.String())
		case <-ctx.Done():
			t.Fatalf("the vendor's exporter has measured nothing: %v", ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

var (
	device   = regexp.MustCompile(`(?m)^mx_device_type\{deviceId="(\d+)",.*uuid="(.+)"\}`)
	numberOf = regexp.MustCompile(`deviceId="(\d+)"`)
)

// ofGPUs are the series with the vendor's names of GPUs and slices, with the UUID of the GPU
// in place of its number: the vendor counts virtual functions too. Of a GPU that is split into
// them it has no UUID.
func ofGPUs(t *testing.T, text string) map[string]float64 {
	t.Helper()
	uuids, all := map[string]string{}, map[string]float64{}
	for _, m := range device.FindAllStringSubmatch(text, -1) {
		uuids[m[1]] = m[2]
	}
	for name, value := range series(t, text) {
		m := numberOf.FindStringSubmatch(name)
		if strings.HasPrefix(name, "mx_") && m != nil && uuids[m[1]] != "" {
			all[strings.Replace(name, m[0], fmt.Sprintf("deviceId=%q", uuids[m[1]]), 1)] = value
		}
	}
	return all
}

// series are the values of a text by their names with all labels, which are sorted there.
func series(t *testing.T, text string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+\{.*\}) (\S+)$`).FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		all[m[1]] = value
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	return testfile.Text(t, file)
}

func writeSeries(t *testing.T, file string, s map[string]float64) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s %s\n", name, strconv.FormatFloat(s[name], 'g', -1, 64))
	}
	testfile.Write(t, file, b.String(), 0o644)
}
