// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net"
	"os"
	"strings"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/sim"
)

// brokenEngines are nodes whose engines are broken.
var brokenEngines = []brokenNode{
	{
		check: "docker-version", severity: Warning, what: "docker does not report its version", fix: "DIR/usr/bin/dockerd --version",
		tree: func(b *bench) { b.tree["usr/bin/dockerd"] = sim.File{Data: "#!/bin/sh\nexit 1\n", Perm: 0o755} },
	},
	{
		check: "docker-config", severity: Error, what: "daemon.json: line 2, column ", fix: "# edit DIR/etc/docker/daemon.json, then: metax-ctk --root DIR runtime configure --engine docker --dry-run",
		tree: func(b *bench) { b.tree["etc/docker/daemon.json"] = sim.File{Data: "{\n  \"runtimes\": {},\n}\n"} },
	},
	{
		check: "docker-answers", severity: Warning, what: "the docker daemon does not answer", fix: "systemctl status docker",
		tree: func(b *bench) { b.info["ServerVersion"] = 5 },
	},
	{
		check: "docker-answers", name: "stopped", severity: Warning, what: "docker is installed, but its daemon does not run", fix: "systemctl start docker",
		host: func(b *bench) { b.must(os.Remove(b.path(assign.DockerSocket))) },
	},
	{
		check: "docker-answers", name: "dead socket", severity: Warning, what: "docker is installed, but its daemon does not run", fix: "systemctl start docker",
		tree: func(b *bench) { b.info = nil },
		host: func(b *bench) {
			listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.path(assign.DockerSocket)})
			b.must(err)
			listener.SetUnlinkOnClose(false)
			b.must(listener.Close())
		},
	},
	{
		check: "docker-old", severity: Info, what: "docker 24.0.7 does not support CDI", fix: "metax-ctk --root DIR runtime configure --engine docker   # or use metax-docker",
		tree: func(b *bench) { b.engine("dockerd", "24.0.7") },
	},
	{
		check: "docker-cdi", severity: Warning, what: "CDI is off in docker 29.5.0", fix: "metax-ctk --root DIR runtime configure --engine docker --cdi && systemctl restart docker",
		tree: func(b *bench) { b.tree["etc/docker/daemon.json"] = sim.File{Data: `{"features": {"cdi": false}}`} },
	},
	{
		check: "docker-boot", severity: Warning, what: "before the CDI spec is written, which is only in /var/run/cdi", fix: "metax-ctk --root DIR cdi generate --output DIR/etc/cdi/metax-tech.com-gpu.json",
		tree: func(b *bench) {
			b.open()
			b.engine("dockerd", "28.1.0")
			b.tree["etc/docker/daemon.json"] = sim.File{Data: `{"features": {"cdi": true}}`}
		},
		host: (*bench).rewrite,
	},
	{
		check: "docker-devices", severity: Error, what: "the docker daemon does not know metax-tech.com/gpu=0", fix: "systemctl restart docker",
		tree: func(b *bench) { b.info["DiscoveredDevices"] = nil },
	},
	{
		check: "docker-read", severity: Error, what: "the docker daemon has not read DIR/etc/docker/daemon.json: it does not know the runtime metax", fix: "systemctl restart docker",
		tree: func(b *bench) { b.info["Runtimes"] = map[string]any{"runc": map[string]any{"path": "runc"}} },
	},
	{
		check: "docker-read", name: "path", severity: Error, what: "it does not know the runtime metax", fix: "systemctl restart docker",
		tree: func(b *bench) {
			b.info["Runtimes"] = map[string]any{"metax": map[string]any{"path": "/usr/local/bin/metax-runtime"}}
		},
	},
	{
		check: "docker-read", name: "default", severity: Warning, what: "its default runtime is runc, not metax", fix: "systemctl restart docker",
		tree: func(b *bench) {
			b.tree["etc/docker/daemon.json"] = sim.File{Data: `{"runtimes": {"metax": {"path": "/usr/bin/metax-runtime"}}, "default-runtime": "metax"}`}
		},
	},
	{
		check: "docker-read", name: "CDI", severity: Error, what: "the docker daemon has not read DIR/etc/docker/daemon.json: CDI is off", fix: "systemctl restart docker",
		tree: func(b *bench) {
			b.tree["etc/docker/daemon.json"] = sim.File{Data: `{"features": {"cdi": true}}`}
			b.info["CDISpecDirs"] = nil
		},
	},
	{
		check: "docker-groups", severity: Info, what: "docker 28.5.2 drops the groups of CDI devices with --user", fix: "docker run --group-add 44 …",
		tree: func(b *bench) { b.engine("dockerd", "28.5.2") },
	},
	{
		check: "containerd-read", severity: Warning, what: "containerd has not read DIR/etc/containerd/config.toml: the file is newer than the daemon", fix: "systemctl restart containerd",
		tree: func(b *bench) { b.tree["run/containerd/containerd.sock"] = sim.File{} },
		host: func(b *bench) {
			hour := time.Now().Add(-time.Hour)
			b.must(os.Chtimes(b.path("run/containerd/containerd.sock"), hour, hour))
		},
	},
	{
		check: "containerd-version", severity: Warning, what: "containerd does not report its version", fix: "DIR/usr/bin/containerd --version",
		tree: func(b *bench) { b.tree["usr/bin/containerd"] = script("nonsense") },
	},
	{
		check: "containerd-config", severity: Error, what: "config.toml: line 2, column 4", fix: "# edit DIR/etc/containerd/config.toml, then: metax-ctk --root DIR runtime configure --engine containerd --dry-run",
		tree: func(b *bench) { b.tree["etc/containerd/config.toml"] = sim.File{Data: "version = 2\nx == 1\n"} },
	},
	{
		check: "containerd-old", severity: Warning, what: "containerd 1.6.20 does not support CDI", fix: "metax-ctk --root DIR runtime configure --engine containerd && systemctl restart containerd",
		tree: func(b *bench) { b.engine("containerd", "1.6.20"); b.containerd2() },
	},
	{
		check: "containerd-cdi", severity: Warning, what: "CDI is off in the CRI plugin of containerd 1.7.24", fix: "metax-ctk --root DIR runtime configure --engine containerd --cdi && systemctl restart containerd",
		tree: func(b *bench) { b.engine("containerd", "1.7.24"); b.containerd2() },
	},
	{
		check: "containerd-cri", severity: Warning, what: "the CRI plugin of containerd is disabled", fix: `# in DIR/etc/containerd/config.toml: remove "cri" from disabled_plugins; then: systemctl restart containerd`,
		tree: func(b *bench) {
			f := b.tree["etc/containerd/config.toml"].(sim.File)
			f.Data = "disabled_plugins = [\"io.containerd.cri.v1.runtime\", \"cri\"]\n" + f.Data
			b.tree["etc/containerd/config.toml"] = f
		},
	},
	{
		check: "containerd-drop-in", severity: Warning, what: "DIR/etc/containerd/conf.d/zz-metax.toml is out of date: the rest of containerd's configuration has changed",
		fix: "metax-ctk --root DIR runtime configure --engine containerd && systemctl restart containerd",
		tree: func(b *bench) {
			b.engine("containerd", "1.7.24")
			b.containerd2()
			b.configured()
			f := b.tree["etc/containerd/config.toml"].(sim.File)
			f.Data = strings.Replace(f.Data, "SystemdCgroup = true", "SystemdCgroup = true\nNoNewKeyring = true", 1)
			b.tree["etc/containerd/config.toml"] = f
		},
	},
	{
		check: "cgroup-driver", severity: Warning, what: "kubelet's cgroup driver is cgroupfs, containerd's is systemd", fix: "# in DIR/var/lib/kubelet/config.yaml: cgroupDriver: systemd; then: systemctl restart kubelet",
		tree: func(b *bench) { b.engine("crio", ""); b.kubelet("cgroupfs") },
	},
	{
		check: "cgroup-driver", name: "CRI-O", severity: Warning, what: "kubelet's cgroup driver is systemd, crio's is cgroupfs",
		fix: `grep -rl cgroup_manager DIR/etc/crio   # in these files: cgroup_manager = "systemd"; then: systemctl restart crio`,
		tree: func(b *bench) {
			b.tree["etc/crio/crio.conf.d/10-x.conf"] = sim.File{Data: "[crio.runtime]\ncgroup_manager = \"cgroupfs\"\nconmon_cgroup = \"pod\"\n"}
		},
	},
	{
		check: "cgroup-driver", name: "CRI-O, left to itself", severity: Warning, what: "kubelet's cgroup driver is cgroupfs, crio's is systemd",
		fix:  "# in DIR/var/lib/kubelet/config.yaml: cgroupDriver: systemd; then: systemctl restart kubelet",
		tree: func(b *bench) { b.engine("containerd", ""); b.kubelet("cgroupfs") },
	},
	{
		check: "cgroup-driver", name: "both", severity: Warning, what: "kubelet's cgroup driver is cgroupfs, containerd's and crio's is systemd",
		fix:  "# in DIR/var/lib/kubelet/config.yaml: cgroupDriver: systemd; then: systemctl restart kubelet",
		tree: func(b *bench) { b.kubelet("cgroupfs") },
	},
	{
		check: "cgroup-driver", name: "docker", severity: Warning, what: "kubelet's cgroup driver is systemd, docker's is cgroupfs",
		fix: `# in DIR/etc/docker/daemon.json: "exec-opts": ["native.cgroupdriver=systemd"]; then: systemctl restart docker`,
		tree: func(b *bench) {
			b.tree["usr/local/bin/cri-dockerd"] = script("cri-dockerd 0.3.20")
			b.info["CgroupDriver"] = "cgroupfs"
		},
	},
	{
		check: "docker-userns", severity: Warning, what: "(userns-remap), and /dev/dri/card1 is not open to everyone (mode 0660)", fix: "docker run --userns=host --device metax-tech.com/gpu=0 …",
		tree: func(b *bench) { b.tree["etc/docker/daemon.json"] = sim.File{Data: `{"userns-remap": "default"}`} },
	},
	{
		check: "docker-userns", name: "told by a flag", severity: Warning, what: "(userns-remap), and /dev/dri/card1 is not open to everyone (mode 0660)", fix: "docker run --userns=host --device metax-tech.com/gpu=0 …",
		tree: func(b *bench) { b.info["SecurityOptions"] = []string{"name=seccomp,profile=builtin", "name=userns"} },
	},
	{
		check: "distributions", severity: Info, what: "k3s has a containerd of its own, set up by DIR/var/lib/rancher/k3s/agent/etc/containerd/config.toml", fix: "metax-ctk --root DIR runtime configure --engine k3s --dry-run",
		tree: func(b *bench) {
			b.tree["var/lib/rancher/k3s/agent/etc/containerd/config.toml"] = sim.File{Data: "version = 3\n"}
		},
	},
	{
		check: "podman-version", severity: Warning, what: "podman does not report its version", fix: "DIR/usr/bin/podman --version",
		tree: func(b *bench) { b.tree["usr/bin/podman"] = script("nonsense") },
	},
	{
		check: "podman-config", severity: Error, what: "DIR/etc/containers/containers.conf: line 1, column 4", fix: "# edit DIR/etc/containers/containers.conf, then: metax-ctk --root DIR runtime configure --engine podman --dry-run",
		tree: func(b *bench) { b.tree["etc/containers/containers.conf"] = sim.File{Data: "x == 1\n"} },
	},
	{
		check: "podman-image", severity: Warning, what: "podman 4.3.1 passes on the annotations of images", fix: "rm DIR/etc/containers/oci/hooks.d/metax.json   # then: podman run --device metax-tech.com/gpu=0",
		tree: func(b *bench) {
			b.engine("podman", "4.3.1")
			b.engine("crio", "")
			b.hook("precreate", "/usr/bin/metax-hook")
		},
		host: func(b *bench) { b.generate(cdi.Options{NoGroups: true}) },
	},
	{
		check: "hook-stage", severity: Warning, what: "injects GPUs in a prestart hook, but systemd manages cgroups", fix: "rm DIR/etc/containers/oci/hooks.d/metax.json   # then use CDI: --device metax-tech.com/gpu=0",
		tree: func(b *bench) { b.hook("prestart", "/usr/bin/metax-hook") },
	},
	{
		check: "hook-program", severity: Error, what: "runs /usr/local/bin/metax-hook, which does not exist", fix: "ln -s BIN/metax-hook DIR/usr/local/bin/metax-hook",
		tree: func(b *bench) { b.engine("crio", ""); b.hook("precreate", "/usr/local/bin/metax-hook") },
	},
	{
		check: "crio-version", severity: Warning, what: "crio does not report its version", fix: "DIR/usr/bin/crio --version",
		tree: func(b *bench) { b.tree["usr/bin/crio"] = script("nonsense") },
	},
	{
		check: "crio-config", severity: Error, what: "DIR/etc/crio/crio.conf.d/10-x.conf: line 1, column 4", fix: "# edit DIR/etc/crio/crio.conf.d/10-x.conf, then: metax-ctk --root DIR runtime configure --engine crio --dry-run",
		tree: func(b *bench) { b.tree["etc/crio/crio.conf.d/10-x.conf"] = sim.File{Data: "x == 1\n"} },
	},
	{
		check: "crio-hook", severity: Error, what: "has the stage precreate, which CRI-O does not know", fix: "rm DIR/etc/containers/oci/hooks.d/metax.json && systemctl restart crio",
		tree: func(b *bench) { b.hook("precreate", "/usr/bin/metax-hook") },
	},
	{
		check: "runtime-program", severity: Error, what: "the runtime metax of docker is /usr/bin/metax-runtime, which does not exist", fix: "metax-ctk --root DIR runtime configure --engine docker --name metax --runtime-path BIN/metax-runtime",
		tree: func(b *bench) { b.drop("usr/bin/metax-runtime") },
	},
	{
		check: "runtime-program", name: "another's", severity: Error, what: "the runtime mx of docker is /opt/mx, which does not exist", fix: "# in DIR/etc/docker/daemon.json: remove the runtime mx",
		tree: func(b *bench) {
			b.tree["etc/docker/daemon.json"] = sim.File{Data: `{"runtimes": {"mx": {"path": "/opt/mx"}}}`}
		},
	},
	{
		check: "runtime-default", severity: Error, what: "the runtime metax of docker is /usr/bin/metax-runtime, which does not exist", fix: "metax-ctk --root DIR runtime configure --engine docker --name metax --runtime-path BIN/metax-runtime",
		tree: func(b *bench) {
			b.drop("usr/bin/metax-runtime")
			b.tree["etc/docker/daemon.json"] = sim.File{Data: `{"default-runtime": "metax", "runtimes": {"metax": {"path": "/usr/bin/metax-runtime"}}}`}
			b.info["DefaultRuntime"] = "metax"
		},
	},
	{
		check: "remote", severity: Warning, what: "docker may be on another host: its address is ssh://root@gpu7 (DOCKER_HOST)", fix: "unset DOCKER_HOST",
		host: func(b *bench) { b.environ("DOCKER_HOST=ssh://root@gpu7") },
	},
	{
		check: "remote", name: "podman", severity: Warning, what: "podman may be on another host: its address is ssh://core:xxxxx@gpu7/run/podman.sock (CONTAINER_HOST)", fix: "unset CONTAINER_HOST",
		host: func(b *bench) { b.environ("CONTAINER_HOST=ssh://core:secret@gpu7/run/podman.sock") },
	},
	{
		check: "remote", name: "context", severity: Warning, what: "docker may be on another host: its address is tcp://gpu8:2376 (the current docker context \"far\"", fix: "docker context use default",
		host: func(b *bench) {
			b.put("root/.docker/config.json", `{"currentContext": "far"}`)
			b.put("root/.docker/contexts/meta/512eea46ceb3921dff4363c7069d89d4964d1d9fccaa0f411851a7aa60a5c868/meta.json", `{"Name": "far", "Endpoints": {"docker": {"Host": "tcp://gpu8:2376"}}}`)
			b.environ("HOME=" + b.path("root"))
		},
	},
}
