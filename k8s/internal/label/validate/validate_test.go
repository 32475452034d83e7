// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// host writes a simulated host, with the CDI spec of its GPUs, and returns both.
func host(t *testing.T, name string) (gpu.Node, *hostfs.Root) {
	t.Helper()
	_, tree := simtest.Host(t, name)
	dir := t.TempDir()
	if err := tree.Write(dir); err != nil {
		t.Fatal(err)
	}
	n, err := node.Selector{Root: dir}.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	spec, err := cdi.Generate(n, cdi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cdi.Write(filepath.Join(dir, cdi.Path(cdi.DefaultVendor, cdi.DefaultClass, cdi.JSON)), spec, cdi.JSON); err != nil {
		t.Fatal(err)
	}
	root := simtest.Root(t, dir)
	return n, root
}

// TestChecks has what happened to a node and to its Node object, and the first reason with its
// message.
func TestChecks(t *testing.T) {
	const file = "var/run/cdi/metax-tech.com-gpu.json"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	full := map[string]string{"cpu": "8", "metax-tech.com/gpu": "8"}
	for _, test := range []struct {
		what     string
		change   func(dir string, n *gpu.Node)
		capacity map[string]string
		reason   string
		message  string
	}{
		{what: "nothing wrong", capacity: full},
		{what: "slices alone", capacity: map[string]string{"metax-tech.com/gpu": "0", "metax-tech.com/sgpu": "128"}},
		{what: "no device nodes", change: func(_ string, n *gpu.Node) {
			for i := range n.GPUs {
				n.GPUs[i].Nodes = nil
			}
		}, capacity: full, reason: NoDriver, message: "no GPU has device nodes; on the node: metax-ctk doctor"},
		{what: "one GPU without device nodes", change: func(_ string, n *gpu.Node) { n.GPUs[0].Nodes = nil }, capacity: full},
		{what: "no spec", change: func(dir string, _ *gpu.Node) { must(os.Remove(filepath.Join(dir, file))) }, capacity: full, reason: NoSpec, message: "no CDI spec in /var/run/cdi has a GPU"},
		{what: "a damaged spec", change: func(dir string, _ *gpu.Node) { must(os.WriteFile(filepath.Join(dir, file), []byte("{"), 0o644)) }, capacity: full, reason: NoSpec, message: "no CDI spec"},
		{what: "a GPU that the spec does not have", change: func(_ string, n *gpu.Node) { n.GPUs[3].Nodes = []string{"/dev/dri/card77"} }, capacity: full, reason: BadSpec, message: "no CDI device has /dev/dri/card77 of GPU "},
		{what: "a GPU for a virtual machine", change: func(_ string, n *gpu.Node) {
			n.GPUs[3].Nodes, n.GPUs[3].Mode = []string{"/dev/dri/card77"}, gpu.ModeVFIO
		}, capacity: full},
		{what: "a GPU in slices", change: func(_ string, n *gpu.Node) {
			n.GPUs[3].Nodes, n.GPUs[3].Mode = []string{"/dev/dri/card77"}, gpu.ModeSGPU
		}, capacity: full},
		{what: "a device node that is gone", change: func(dir string, n *gpu.Node) { must(os.Remove(filepath.Join(dir, n.GPUs[2].Nodes[0]))) }, capacity: full, reason: BadSpec, message: "no such device node"},
		{what: "two specs", change: func(dir string, _ *gpu.Node) {
			text, err := os.ReadFile(filepath.Join(dir, file))
			must(err)
			must(os.WriteFile(filepath.Join(dir, "var/run/cdi/other.json"), text, 0o644))
		}, capacity: full, reason: BadSpec, message: "so that no engine resolves it"},
		{what: "no plugin", capacity: map[string]string{"cpu": "8"}, reason: NoPlugin, message: "the Node has no metax-tech.com/gpu"},
		{what: "a plugin without GPUs", capacity: map[string]string{"metax-tech.com/gpu": "0"}, reason: NoPlugin},
	} {
		t.Run(test.what, func(t *testing.T) {
			n, root := host(t, "c500-8")
			if test.change != nil {
				test.change(root.Dir(), &n)
			}
			checks := []Check{Driver(n), Spec(n, root, "/"), Plugin(test.capacity)}
			labels := Labels(checks)
			want := map[string]string{"metax-tech.com/validation.ready": "true"}
			if test.reason != "" {
				want = map[string]string{"metax-tech.com/validation.ready": "false", "metax-tech.com/validation.reason": test.reason}
			}
			if d := cmp.Diff(want, labels); d != "" {
				t.Error(d)
			}
			for _, c := range checks {
				if c.Reason != "" {
					if !strings.Contains(c.Message, test.message) {
						t.Errorf("message %q, want %q", c.Message, test.message)
					}
					break
				}
			}
		})
	}
}

// TestLook tells a result by labels, file, metric and log, and none for a node without a GPU.
func TestLook(t *testing.T) {
	n, root := host(t, "c500-8")
	capacity := map[string]any{"metax-tech.com/gpu": "8"}
	away := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]any{"name": "a"}, "status": map[string]any{"capacity": capacity}}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	v := &Validator{Host: root, EngineRoot: "/", Client: client, Node: "a", File: filepath.Join(t.TempDir(), "ready"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	registry := prometheus.NewRegistry()
	v.Register(registry)
	const head = "# HELP metax_gpu_label_validation 1 if the node passed the check, 0 if not; absent on a node without a GPU.\n# TYPE metax_gpu_label_validation gauge\n"
	look := func(n gpu.Node, ready bool, metrics string) {
		t.Helper()
		labels, err := v.Look(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		if got := labels["metax-tech.com/validation.ready"] == "true"; got != ready {
			t.Errorf("the labels are %v", labels)
		}
		if _, err := os.Stat(v.File); (err == nil) != ready {
			t.Errorf("the file: %v", err)
		}
		if metrics != "" {
			metrics = head + metrics
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(metrics)); err != nil {
			t.Error(err)
		}
	}
	good := "metax_gpu_label_validation{check=\"driver\"} 1\nmetax_gpu_label_validation{check=\"plugin\"} 1\nmetax_gpu_label_validation{check=\"spec\"} 1\n"
	look(n, true, good)
	look(n, true, good)
	capacity["metax-tech.com/gpu"] = "0"
	bad := strings.Replace(good, `"plugin"} 1`, `"plugin"} 0`, 1)
	look(n, false, bad)
	look(n, false, bad)
	if got := strings.Count(log.String(), "level=WARN"); got != 1 {
		t.Errorf("%d warnings:\n%s", got, log.String())
	}
	look(gpu.Node{}, false, "")
	capacity["metax-tech.com/gpu"] = "8"
	look(n, true, good)
	away = true
	if _, err := v.Look(context.Background(), n); err == nil || !strings.Contains(err.Error(), `read node "a"`) {
		t.Errorf("without an API server: %v", err)
	}
	v.End()
	if _, err := os.Stat(v.File); err == nil {
		t.Error("the file is there after the end")
	}
}
