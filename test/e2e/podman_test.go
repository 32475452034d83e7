// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// containersConf fits podman to a machine without systemd and, in a bare cgroup v2 tree,
// without a pids controller for its default limit.
const containersConf = `[containers]
pids_limit = 0
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = %q
`

func TestPodman(t *testing.T) {
	// Groups need CDI 0.7, and Podman 4 rejects the whole file. The wrapper brings them
	// itself.
	noGroups := []string{"--no-groups"}
	rows := []struct {
		suite   string
		layout  sandbox.Layout
		runtime string
		version string
		options []string // of cdi generate
	}{
		{"sid", sandbox.Hybrid, "runc", "5.", nil},
		{"sid", sandbox.V2, "runc", "5.", nil},
		{"sid", sandbox.V1, "crun", "5.", nil},
		{"sid", sandbox.V2, "crun", "5.", nil},
		{"trixie", sandbox.V1, "runc", "5.4.", nil},
		{"trixie", sandbox.V2, "runc", "5.4.", nil},
		{"trixie", sandbox.V1, "crun", "5.4.", nil},
		{"trixie", sandbox.V2, "crun", "5.4.", nil},
		{"bookworm", sandbox.Hybrid, "runc", "4.3.", noGroups},
		{"bookworm", sandbox.V1, "runc", "4.3.", noGroups},
		{"bookworm", sandbox.V2, "runc", "4.3.", noGroups},
		{"bookworm", sandbox.V1, "crun", "4.3.", noGroups},
		{"bookworm", sandbox.V2, "crun", "4.3.", noGroups},
	}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%s/%s/%s", row.suite, row.layout, row.runtime), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, row.suite, row.layout, row.options...)
			h.podman(t, row.version, row.runtime)
			wrapper{
				host: h, client: "podman", unknown: "unresolvable CDI devices",
				// Podman has no daemon that would list what it knows of CDI.
				cdi: true, auto: "flags",
				// Podman keeps MKNOD from containers; the probe needs it to try what is
				// denied.
				options: []string{"--cap-add=MKNOD", "--cgroup-parent=" + h.Cgroup()},
			}.journey(t)
		})
	}
}

// podman fits Podman to the sandbox, with the test image, and asserts its version.
func (h *host) podman(t *testing.T, version, runtime string) {
	t.Helper()
	h.write(t, "/etc/containers/containers.conf", fmt.Sprintf(containersConf, runtime))
	h.write(t, "/etc/containers/policy.json", `{"default":[{"type":"insecureAcceptAnything"}]}`)
	got := h.must(t, nil, "podman", "version", "--format", "{{.Client.Version}}")
	assertVersion(t, "podman", strings.TrimSpace(got), version)
	got = h.must(t, nil, "podman", "info", "--format", "{{.Host.OCIRuntime.Name}}, {{.Host.OCIRuntime.Version}}")
	assertVersion(t, "runtime", got, runtime+",")
	h.must(t, nil, "podman", "load", "--quiet", "--input", imageFile)
}
