// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// The engines of the kubelet.
const (
	Containerd = "containerd"
	CRIO       = "crio"
)

const (
	containerdSocket = "/run/containerd/containerd.sock"
	crioSocket       = "/run/crio/crio.sock"
)

// pauseImage is the image of every pod's first container.
const pauseImage = Registry + "/test/probe:1"

const (
	containerdConfig = `version = 3
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "` + pauseImage + `"
`
	// containerd1Config is that of containerd 1.6 and 1.7.
	containerd1Config = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
`
)

// crioConfig fits CRI-O to a machine without systemd and AppArmor. MKNOD, which containerd
// gives every container, is for the probe, which tries what is denied.
const crioConfig = `[crio]
version_file = "/run/crio/version"
version_file_persist = "/run/crio/version-persist"
clean_shutdown_file = "/run/crio/clean"

[crio.runtime]
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
default_runtime = "runc"
pinns_path = "/usr/local/bin/pinns"
apparmor_profile = "unconfined"
selinux = false
default_capabilities = ["CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "SETGID", "SETUID", "SETPCAP", "NET_BIND_SERVICE", "KILL", "MKNOD"]

[crio.runtime.runtimes.runc]
runtime_path = "/usr/sbin/runc"
monitor_path = "/usr/bin/conmon"

[crio.image]
pause_image = "` + pauseImage + `"
pause_command = "/probe pause"
`

// crioFiles are the files that CRI-O reads: nobody signs the images of the test's registry,
// which serves them without TLS.
var crioFiles = map[string]string{
	"/etc/crio/crio.conf":             crioConfig,
	"/etc/containers/policy.json":     `{"default": [{"type": "insecureAcceptAnything"}]}`,
	"/etc/containers/registries.conf": "[[registry]]\nlocation = \"" + Registry + "\"\ninsecure = true\n",
}

// launchEngine starts the engine of the kubelet.
func (c *Cluster) launchEngine(ctx context.Context) error {
	if c.Engine == Containerd {
		is, err := c.Run(ctx, Containerd, "--version")
		if err != nil {
			return err
		}
		config := containerd1Config
		if strings.Contains(is, "/containerd/v2 ") {
			config = containerdConfig
		}
		if err := c.WriteFile("/etc/containerd/config.toml", config); err != nil {
			return err
		}
		return c.launch(ctx, program{argv: []string{Containerd}, ready: listens(containerdSocket)})
	}
	for _, name := range []string{CRIO, "pinns"} {
		if _, err := c.copyProgram(filepath.Join(c.fixtures.CRIO, name), name); err != nil {
			return err
		}
	}
	var errs []error
	for name, text := range crioFiles {
		errs = append(errs, c.WriteFile(name, text))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.launch(ctx, program{argv: []string{"/usr/local/bin/" + CRIO, "--disable-hostport-mapping"}, ready: listens(crioSocket)})
}

// socket is where the kubelet finds the engine.
func (c *Cluster) socket() string {
	if c.Engine == CRIO {
		return crioSocket
	}
	return containerdSocket
}
