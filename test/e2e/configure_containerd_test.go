// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/cri"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// The configurations of nodes that others have set up already: a runtime of somebody's,
// a drop-in of somebody's, comments. FORM is the version of the configuration.
const (
	containerdV2 = `# site: do not edit by hand
version = 2
oom_score = 0

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "IMAGE" # mirrored
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.spare]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.spare.options]
        BinaryName = "/usr/sbin/runc"

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
`
	containerdV3 = `version = FORM
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "IMAGE"

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
`
	// containerdSpare is a drop-in of somebody's.
	containerdSpare = `version = FORM
# another vendor's
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.spare]
  runtime_type = 'io.containerd.runc.v2'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.spare.options]
    BinaryName = '/usr/sbin/runc'
`
)

func TestConfigureContainerd(t *testing.T) {
	for _, row := range []struct {
		name, suite, version string
		layout               sandbox.Layout
		config               string
		form                 int // of the form of the configuration
		cdi                  bool
		doctor               string
	}{
		{"1.6", "bookworm", "1.6.20", sandbox.Hybrid, containerdV2, 2, false, ""},
		{"1.6.32", containerd16, "1.6.32", sandbox.V2, containerdV2, 2, false, ""},
		{"1.7", "trixie", "1.7.", sandbox.V2, containerdV2, 2, true, "containerd-cdi"},
		{"2.1 with version 2", "sid", "2.1.", sandbox.Hybrid, containerdV2, 2, true, ""},
		{"2.1 with version 3", "sid", "2.1.", sandbox.V2, containerdV3, 3, true, ""},
		{"2.4 with version 4", containerd24, "2.4.", sandbox.Hybrid, containerdV3, 4, true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout)
			h.replant(t)
			fill := strings.NewReplacer("IMAGE", imageRef, "FORM", strconv.Itoa(row.form))
			h.write(t, "/etc/containerd/config.toml", fill.Replace(row.config))
			if row.form > 2 {
				h.write(t, "/etc/containerd/conf.d/99-other.toml", fill.Replace(containerdSpare))
			}
			h.write(t, "/var/lib/kubelet/config.yaml", "cgroupDriver: cgroupfs\n") // somebody's pods
			client, d := h.containerdBy(t, row.version)
			h.configures(t, setting{
				engine: "containerd", unread: true, doctor: row.doctor,
				activate: d.restarts("systemctl restart containerd"),
				running: func(t *testing.T) {
					t.Helper()
					runc, spare, metax := h.podBy(t, client, ""), h.podBy(t, client, "spare"), h.podBy(t, client, "metax")
					h.sees(t, runc.look(t, cri.Container{Name: "none"}), nil)
					h.sees(t, spare.look(t, cri.Container{Name: "none"}), nil)
					h.sees(t, metax.look(t, cri.Container{Name: "none"}), nil)
					h.sees(t, metax.look(t, cri.Container{Name: "ours", Annotations: map[string]string{"metax-tech.com/gpu": "1,2"}}), []int{1, 2})
					if row.cdi {
						h.sees(t, runc.look(t, cri.Container{Name: "cdi", CDI: h.cdiNames([]int{4, 5})}), []int{4, 5})
						h.sees(t, metax.look(t, cri.Container{Name: "cdi", CDI: h.cdiNames([]int{6})}), []int{6})
					}
				},
				bare: func(t *testing.T) {
					t.Helper()
					h.podBy(t, client, "spare")
					if _, err := client.PodBy(t.Context(), h.Cgroup(), "metax"); err == nil || !strings.Contains(err.Error(), "metax") {
						t.Errorf("want no runtime handler of this name: %v", err)
					}
				},
			})
		})
	}
}

// podBy starts a pod by a runtime handler, and ends it with the test.
func (h *host) podBy(t *testing.T, client *cri.Client, handler string) containerd {
	t.Helper()
	pod, err := client.PodBy(t.Context(), h.Cgroup(), handler)
	if err != nil {
		t.Fatalf("a pod by the runtime handler %q: %v", handler, err)
	}
	return containerd{h, pod}
}

// restarts returns what stops the daemon and starts it again when told to by a command.
func (d *daemon) restarts(want string) func(*testing.T, string) {
	return func(t *testing.T, command string) {
		t.Helper()
		if command != want {
			t.Fatalf("the command is %q, want %q", command, want)
		}
		d.stop(t)
		d.start(t)
	}
}

func (h *host) link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(h.Path(path[:strings.LastIndexByte(path, '/')]), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, h.Path(path)); err != nil {
		t.Fatal(err)
	}
}
