// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/cri"
	"github.com/metax-ctk/container-toolkit/test/report"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	shimPath = sandbox.BinDir + "/metax-runtime"
	// deviceList + NAME is where a mount from /dev/null requests a GPU.
	deviceList = "/var/run/metax-container-devices/"
	// noDevice is the shim's message about a device that does not exist.
	noDevice = "metax-tech.com/gpu=99"
)

// TestShimDocker injects GPUs into containers of Docker, without CDI and with it.
func TestShimDocker(t *testing.T) {
	rows := []struct {
		suite   string
		layout  sandbox.Layout
		version string
		// annotations reports whether this docker has --annotation.
		annotations bool
	}{
		{"bookworm", sandbox.V1, "20.10.", false},
		{"bookworm", sandbox.V2, "20.10.", false},
		{"trixie", sandbox.V1, "26.1.", true},
		{"sid", sandbox.V2, "28.", true},
		{docker29, sandbox.V2, "29.8.", true},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%s/%s", row.suite, row.layout), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			h.docker(t, row.version, map[string]any{"runtimes": map[string]any{"metax": map[string]any{"path": shimPath}}})
			d := shimDocker{h, append([]string{"/probe", "look"}, h.numbers(t)...)}
			t.Run("no GPU asked, none given", func(t *testing.T) { h.sees(t, d.look(t), nil) })
			t.Run("device list", func(t *testing.T) {
				h.sees(t, d.look(t, "--volume=/dev/null:"+deviceList+"1", "--volume=/dev/null:"+deviceList+h.gpus[6].UUID), []int{1, 6})
			})
			t.Run("non-root user", func(t *testing.T) {
				h.sees(t, d.look(t, "--volume=/dev/null:"+deviceList+"2", "--user=1000:1000"), []int{2})
			})
			t.Run("the environment asks for nothing", func(t *testing.T) {
				h.sees(t, d.look(t, "--env=METAX_VISIBLE_DEVICES=all"), nil)
			})
			t.Run("unknown device must fail", func(t *testing.T) {
				d.fails(t, "--volume=/dev/null:"+deviceList+"99")
			})
			if row.annotations {
				t.Run("annotation", func(t *testing.T) {
					h.sees(t, d.look(t, "--annotation=metax-tech.com/gpu=0,3"), []int{0, 3})
				})
				t.Run("unknown annotated device must fail", func(t *testing.T) {
					d.fails(t, "--annotation=metax-tech.com/gpu=99")
				})
			}
			t.Run("missing node must fail", func(t *testing.T) {
				h.without(t, h.gpus[7].Nodes[0], func() {
					r := d.run(t, d.inbox(t), "--volume=/dev/null:"+deviceList+"7")
					if r.code == 0 || !strings.Contains(r.stderr, h.gpus[7].Nodes[0]) {
						t.Errorf("want the missing node %s to be named: %v", h.gpus[7].Nodes[0], r)
					}
				})
				h.sees(t, d.look(t, "--volume=/dev/null:"+deviceList+"7"), []int{7})
			})
			t.Run("the low-level runtime's failure", func(t *testing.T) {
				r := d.run(t, d.inbox(t), "--volume=/dev/null:"+deviceList+"1", "--entrypoint=/none")
				if r.code == 0 || !strings.Contains(r.stderr, "/none") {
					t.Errorf("want runc's own word about /none: %v", r)
				}
			})
		})
	}
}

// shimDocker runs the probe by the shim as Docker's runtime.
type shimDocker struct {
	*host
	probe []string // its command line
}

func (d shimDocker) run(t *testing.T, in inbox, options ...string) result {
	t.Helper()
	argv := append([]string{"docker", "run", "--rm", "--network=none", "--runtime=metax", "--volume", in.dir + ":" + report.Dir}, options...)
	return d.host.run(t, nil, append(append(argv, imageRef), d.probe...)...)
}

func (d shimDocker) look(t *testing.T, options ...string) report.Report {
	t.Helper()
	in := d.inbox(t)
	if r := d.run(t, in, options...); r.code != 0 {
		t.Fatal(r)
	}
	return in.report(t)
}

// fails requests a GPU that does not exist, and asserts that docker prints the reason.
func (d shimDocker) fails(t *testing.T, option string) {
	t.Helper()
	in := d.inbox(t)
	r := d.run(t, in, option)
	if r.code == 0 || !strings.Contains(r.stderr, noDevice) {
		t.Errorf("want an error that names %s: %v", noDevice, r)
	}
	if !in.empty(t) {
		t.Error("the container has started")
	}
}

// TestShimContainerd injects GPUs into pods of a containerd that knows no CDI, or has it off.
func TestShimContainerd(t *testing.T) {
	const shim = containerd1 + `
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  container_annotations = ["metax-tech.com/*", "cdi.k8s.io/*"]
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  BinaryName = "` + shimPath + `"
`
	for _, row := range []struct {
		suite   string
		layout  sandbox.Layout
		version string
	}{
		{"bookworm", sandbox.Hybrid, "1.6.20"},
		{containerd16, sandbox.V2, "1.6.32"},
		{"trixie", sandbox.V2, "1.7."},
	} {
		t.Run(fmt.Sprintf("%s/%s", row.suite, row.layout), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			c := h.criPod(t, row.version, shim)
			look := func(name string, annotations, mounts map[string]string) report.Report {
				t.Helper()
				return c.look(t, cri.Container{Name: name, Annotations: annotations, Mounts: mounts})
			}
			h.sees(t, look("none", nil, nil), nil)
			h.sees(t, look("ours", map[string]string{"metax-tech.com/gpu": "1,2"}, nil), []int{1, 2})
			h.sees(t, look("cdi", map[string]string{"cdi.k8s.io/device-plugin": strings.Join(h.cdiNames([]int{4, 5}), ",")}, nil), []int{4, 5})
			h.sees(t, look("list", nil, map[string]string{deviceList + "3": "/dev/null"}), []int{3})
			_, err := c.start(t, c.inbox(t), cri.Container{Name: "unknown", Annotations: map[string]string{"metax-tech.com/gpu": "99"}}, "look")
			if err == nil || !strings.Contains(err.Error(), noDevice) {
				t.Errorf("want an error that names %s, got %v", noDevice, err)
			}
		})
	}
}
