// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/e2e/internal/cri"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	crioProgram = sandbox.BuiltDir + "/crio"
	crioVersion = "1.34."
)

// crioConf fits CRI-O to a machine without systemd, AppArmor and CNI. It has a runtime of
// somebody's.
const crioConf = `# site: one file for all nodes
[crio]
log_dir = "/run/crio/logs"
version_file = "/run/crio/version"
version_file_persist = "/run/crio/version-persist"
clean_shutdown_file = "/run/crio/clean"

[crio.runtime]
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
default_runtime = "runc"
pinns_path = "` + sandbox.BuiltDir + `/pinns"
apparmor_profile = "unconfined"
selinux = false
# MKNOD is for the probe, which tries what is denied.
default_capabilities = ["CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "SETGID", "SETUID", "SETPCAP", "NET_BIND_SERVICE", "KILL", "MKNOD"]

[crio.runtime.runtimes.runc]
runtime_path = "/usr/sbin/runc"
monitor_path = "/usr/bin/conmon"
[crio.runtime.runtimes.spare]
runtime_path = "/usr/bin/crun"
monitor_path = "/usr/bin/conmon"

[crio.image]
pause_image = %q
pause_command = "/probe pause"
`

// crio starts CRI-O with the configuration that is there, and the test image.
func (h *host) crio(t *testing.T) (*cri.Client, *daemon) {
	t.Helper()
	h.write(t, "/etc/containers/policy.json", `{"default":[{"type":"insecureAcceptAnything"}]}`)
	h.link(t, crioProgram, "/usr/local/bin/crio")
	h.must(t, nil, "podman", "load", "--quiet", "--input", imageFile)
	client, err := cri.Dial(h.Path("/run/crio/crio.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	var name, version string
	d := h.daemon(t, func(ctx context.Context) (err error) {
		name, version, err = client.Version(ctx)
		return err
	}, "crio", "--disable-hostport-mapping") // which would take nft
	assertVersion(t, name, version, crioVersion)
	return client, d
}

// TestCRIO injects GPUs into pods of CRI-O by CDI.
func TestCRIO(t *testing.T) {
	for _, layout := range []sandbox.Layout{sandbox.Hybrid, sandbox.V2} {
		t.Run(string(layout), func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "sid", layout)
			h.write(t, "/etc/crio/crio.conf", fmt.Sprintf(crioConf, imageRef))
			client, _ := h.crio(t)
			h.podBy(t, client, "").viaCRI(t)
		})
	}
}
