// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// simulated writes a host tree and returns it.
func simulated(t *testing.T, name string) (string, gpu.Node) {
	t.Helper()
	n, tree := simtest.Host(t, name)
	dir := t.TempDir()
	if err := tree.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir, n
}

func command(ctx context.Context, out io.Writer, args ...string) error {
	a := app()
	a.Writer = out
	return a.RunContext(ctx, append([]string{"metax-gpu-device"}, args...))
}

func TestCDICommand(t *testing.T) {
	root, n := simulated(t, "c500-8")
	to, hook := t.TempDir(), filepath.Join(t.TempDir(), "metax-hook")
	testfile.Write(t, hook, "", 0o600)
	var out bytes.Buffer
	args := []string{"cdi", "--root", root, "--spec-root", to, "--hook", hook, "--settle", "0", "--log-dir="}
	if err := command(t.Context(), &out, args...); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to + "/var/run/cdi/metax-tech.com-gpu.json")
	if err != nil || !strings.Contains(string(text), string(n.GPUs[7].UUID)) || !strings.Contains(out.String(), "CDI spec") {
		t.Errorf("%v %s %s", err, text, out.String())
	}
	out.Reset()
	args[2] = t.TempDir()
	if err := command(t.Context(), &out, args...); err != nil || !strings.Contains(out.String(), "no MetaX GPU") {
		t.Errorf("without a GPU: %v, %s", err, out.String())
	}
}

func TestHealthCommand(t *testing.T) {
	root, n := simulated(t, "c500-8-degraded")
	socket := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- command(ctx, io.Discard, "health", "--root", root, "--socket", socket, "--interval", "100ms", "--log-dir=")
	}()
	reports := make(chan reader.Report)
	watch, stop := context.WithCancel(ctx)
	go reader.NewClient(socket).Watch(watch, func(r reader.Report) {
		select {
		case reports <- r:
		case <-watch.Done():
		}
	})
	for r := range reports {
		if r.Look.Failed != "" {
			continue // it has not begun yet
		}
		if len(r.Node.GPUs) != 8 || r.Node.GPUs[7].UUID != n.GPUs[7].UUID || len(r.Look.Readings[6].Problems) == 0 || len(r.Look.Readings[5].Problems) != 0 {
			t.Errorf("%+v", r)
		}
		break
	}
	stop()
	readings, err := reader.NewClient(socket).Readings(ctx)
	if err != nil || len(readings.GPUs) == 0 {
		t.Errorf("%v: %+v", err, readings)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFactsOf(t *testing.T) {
	_, n := simulated(t, "c500-8")
	s := plugin.Status{InUse: []string{"a-vf1", "a-vf2", "b", "gone"}, Outside: []foreignuse.Use{{GPU: n.GPUs[5].BDF}, {GPU: gpu.BDF{Bus: 0xff}}}}
	s.Node = n
	s.Devices = []inventory.Device{{ID: "a-vf0", GPU: 1}, {ID: "a-vf1", GPU: 1}, {ID: "a-vf2", GPU: 1}, {ID: "b", GPU: 2}, {ID: "c", GPU: 3}, {ID: "gone", GPU: -1}}
	f := factsOf(s)
	if diff := cmp.Diff([]int{1, 2}, f.InUse) + cmp.Diff([]int{5}, f.Outside); diff != "" {
		t.Error(diff)
	}
}
