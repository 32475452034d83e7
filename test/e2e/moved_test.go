// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// TestMoved starts containers after a boot at which the driver numbered the cards in another
// order: the nodes of GPU 2 are those of GPU 6.
func TestMoved(t *testing.T) {
	options := func(h *host) []string { return []string{"--cgroup-parent=" + h.Cgroup()} }
	for _, row := range []struct {
		name, suite, client string
		begin               func(t *testing.T, h *host) []string // options of run
	}{
		{"docker 29", docker29, "docker", func(t *testing.T, h *host) []string { h.docker(t, "29.8.", nil); return nil }},
		{"docker 28", "sid", "docker", func(t *testing.T, h *host) []string { h.docker(t, "28.", nil); return nil }},
		{"docker 20.10", "bookworm", "docker", func(t *testing.T, h *host) []string { h.docker(t, "20.10.", nil); return nil }},
		{"podman 5", "sid", "podman", func(t *testing.T, h *host) []string { h.podman(t, "5.", "runc"); return options(h) }},
		{"podman 4.3", "bookworm", "podman", func(t *testing.T, h *host) []string { h.podman(t, "4.3.", "runc"); return options(h) }},
		{"nerdctl 2", "sid", "nerdctl", func(t *testing.T, h *host) []string {
			h.containerd(t, "2.1.", containerd2)
			h.link(t, nerdctlProgram, "/usr/local/bin/nerdctl")
			h.must(t, nil, "nerdctl", "load", "--quiet", "--input", imageFile)
			return options(h)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var generate []string
			if row.suite == "bookworm" {
				generate = []string{"--no-groups"}
			}
			h := newHost(t, row.suite, sandbox.Hybrid, generate...)
			d := desk{host: h, client: row.client, root: nodeDir, options: row.begin(t, h)}
			create := func(name string, options ...string) {
				args := d.runArgs(append(options, "--name="+name))
				args[0] = "create"
				d.must(t, d.env(), append([]string{"metax-docker"}, args...)...)
			}
			create("plain", "--inject=flags", "--gpus=[2]")
			d.must(t, d.env(), "metax-docker", "start", "plain")
			d.holds(t, 2)
			d.must(t, nil, row.client, "stop", "plain")

			boot(t, h, generate)
			d.failed(t, d.metax(t, "start", "plain"),
				"start plain: it was made for GPU 2 (0000:10:00.0), and its device nodes belong to GPU 6 (0000:37:00.0) now. To make it again: metax-docker rm plain, then metax-docker create --name=plain --gpus='["+h.gpus[2].UUID+"]' … "+imageRef)
			d.failed(t, d.metax(t, "restart", "plain"), "restart plain: it was made for GPU 2")
			d.holds(t)
			if err := os.Remove(h.Path(nodeDir + "/run/metax-container-toolkit/node.json")); err != nil {
				t.Fatal(err)
			}
			d.failed(t, d.metax(t, "start", "plain"), "start plain: it was made for GPU 2") // by the driver's own files
			if err := os.RemoveAll(h.Path(nodeDir + "/sys/devices/virtual/mxcd/mxcd/layout")); err != nil {
				t.Fatal(err)
			}
			d.failed(t, d.metax(t, "start", "plain"), "not known since the boot", "sudo metax-ctk cdi generate")
			d.must(t, nil, row.client, "rm", "plain")
		})
	}
}

// boot makes the node anew, with the nodes of GPU 2 and GPU 6 exchanged and without its /run.
func boot(t *testing.T, h *host, generate []string) {
	t.Helper()
	var node map[string]any
	h.decode(t, &node, "metax-ctk", "--root", nodeDir, "device", "list", "-o", "json")
	gpus := node["gpus"].([]any)
	a, b := gpus[2].(map[string]any), gpus[6].(map[string]any)
	a["nodes"], b["nodes"] = b["nodes"], a["nodes"]
	for _, g := range []map[string]any{a, b} {
		delete(g, "nodeGids")
	}
	text, err := json.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, "/tmp/after.json", strings.ReplaceAll(string(text), nodeDir, ""))
	if err := os.RemoveAll(h.Path(nodeDir)); err != nil {
		t.Fatal(err)
	}
	h.simulate(t, "/tmp/after.json", generate)
}
