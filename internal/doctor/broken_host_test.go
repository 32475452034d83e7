// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// brokenHosts are nodes on which the rest is broken.
var brokenHosts = []brokenNode{
	{
		check: "kernel", severity: Info, what: "the kernel, 4.18.0-553.el8.x86_64, lacks system calls that Linux 5.12 has: open_tree, openat2", fix: "# nothing to do unless a start fails; see docs/platforms.md",
		tree: func(b *bench) {
			b.tree["proc/sys/kernel/osrelease"] = sim.File{Data: "4.18.0-553.el8.x86_64\n"}
			b.change = append(b.change, func(f *Facts) { f.System.MissingCalls = []string{"open_tree", "openat2"} })
		},
	},
	{
		check: "open-files", severity: Warning, what: "dockerd and its containers may open 1073741816 files",
		fix:  `d=/etc/systemd/system/docker.service.d; mkdir -p $d && printf '[Service]\nLimitNOFILE=1048576\n' > $d/limit.conf && systemctl daemon-reload && systemctl restart docker`,
		tree: func(b *bench) { b.tree["proc/100/limits"] = sim.File{Data: limitsText("1073741816")} },
	},
	{
		check: "proc", severity: Info, what: "/proc shows you only your own processes", fix: "sudo metax-ctk --root DIR ps",
		tree: func(b *bench) { b.tree["proc/mounts"] = sim.File{Data: "proc /proc proc rw,nosuid,hidepid=2 0 0\n"} },
		host: func(b *bench) { b.c.Asker = Asker{UID: 1000, Name: "alice", Groups: []int{1000, 44}}; b.noRootless() },
	},
	{
		check: "refresh-unit", severity: Warning, what: "is not installed", fix: "# install the toolkit's package, then: systemctl enable --now " + refreshUnit,
		tree: func(b *bench) { b.drop("usr/lib/systemd", "etc/systemd") },
	},
	{
		check: "refresh-unit", name: "off", severity: Warning, what: "is not enabled", fix: "systemctl enable --now " + refreshUnit,
		tree: func(b *bench) { b.drop("etc/systemd") },
	},
	{
		check: "refresh-unit", name: "failed", severity: Warning, what: "has failed: exit-code", fix: "journalctl -u " + refreshUnit + " && systemctl restart " + refreshUnit,
		tree: func(b *bench) { b.tree["usr/bin/systemctl"] = script("Result=exit-code") },
	},
	{
		check: "user-nodes", severity: Warning, what: "you (alice) are not in the group video, which may open /dev/dri/card1", fix: "sudo usermod -aG video alice   # then log in again",
		host: func(b *bench) { b.c.Asker = alice },
	},
	{
		check: "user-docker", severity: Error, what: "you (alice) may not talk to the docker daemon: permission denied", fix: "sudo usermod -aG docker alice   # then log in again; or without the group: sudo metax-docker run …",
		host: func(b *bench) {
			b.c.Asker = Asker{UID: 1000, Name: "alice", Groups: []int{1000, 44}}
			b.noRootless()
			b.facts(func(f *Facts) { f.Engines.Docker.Open = false }) // root may always
		},
	},
	{
		check: "user-subids", severity: Warning, what: "you (bob) have no ids in /etc/subuid and /etc/subgid", fix: "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 bob",
		tree: func(b *bench) { b.open() },
		host: func(b *bench) { b.c.Asker = Asker{UID: 1001, Name: "bob"}; b.rewrite() },
	},
	{
		check: "rootless-groups", severity: Info, what: "the group of /dev/dri/card1 has no id in a user namespace", fix: "podman run --group-add keep-groups --device metax-tech.com/gpu=0 …",
		host: func(b *bench) { b.c.Asker = Asker{UID: 1000, Name: "alice", Groups: []int{1000, 44}} },
	},
	{
		check: "rootless-groups", name: "docker", severity: Info, what: "the group of /dev/dri/card1 has no id in a user namespace", fix: "podman run --group-add keep-groups --device metax-tech.com/gpu=0 …",
		tree: func(b *bench) { b.info["SecurityOptions"] = []string{"name=seccomp", "name=rootless"} },
	},
	{
		check: "selinux", severity: Warning, what: "SELinux is enforcing, and container_use_devices is off", fix: "setsebool -P container_use_devices=1",
		tree: func(b *bench) { b.tree["sys/fs/selinux/booleans/container_use_devices"] = sim.File{Data: "0 0"} },
	},
	{
		check: "denials", severity: Warning, what: "SELinux denied access to a GPU", fix: "setsebool -P container_use_devices=1",
		tree: func(b *bench) {
			b.tree["var/log/audit/audit.log"] = sim.File{Data: `type=AVC msg=audit(1.1:1): avc:  denied  { read write } for  pid=9 comm="python3" name="mxcd" dev="devtmpfs" tclass=chr_file permissive=0` + "\n"}
		},
	},
	{
		check: "user-nodes", name: "docker", severity: Info, what: "you (alice) are not in the group video", fix: "sudo usermod -aG video alice   # then log in again",
		host: func(b *bench) { b.c.Asker = alice; b.noRootless() },
	},
	{
		check: "denials", name: "of another", severity: Warning, what: `name="renderD128"`, fix: "setsebool -P container_use_devices=1",
		tree: func(b *bench) {
			line := `type=AVC avc:  denied  { open } comm="x" name="%s" tclass=chr_file` + "\n"
			b.tree["var/log/audit/audit.log"] = sim.File{Data: fmt.Sprintf(line, "renderD128") + fmt.Sprintf(line, "card0") + fmt.Sprintf(line, "mxcdx")}
		},
	},
	{
		check: "denials", name: "AppArmor", severity: Warning, what: "AppArmor denied access to a GPU", fix: "aa-status   # then: aa-complain PROFILE, the one in the log line",
		tree: func(b *bench) {
			b.tree["var/log/kern.log"] = sim.File{Data: `kernel: audit: apparmor="DENIED" operation="open" profile="docker-default" name="/dev/mxcd" pid=9 comm="python3"` + "\n"}
		},
	},
	{
		check: "programs", severity: Warning, what: "metax-hook: not beside metax-ctk in BIN", fix: "# reinstall the toolkit's package (from source: make install)",
		host: func(b *bench) { b.must(os.Remove(filepath.Join(filepath.Dir(b.c.Self), "metax-hook"))) },
	},
	{
		check: "programs-trust", severity: Error, what: "group or others may write to", fix: "chown root:root BIN/metax-hook && chmod 0755 BIN/metax-hook",
		host: func(b *bench) { b.must(os.Chmod(filepath.Join(filepath.Dir(b.c.Self), "metax-hook"), 0o777)) },
	},
	{
		check: "programs-trust", name: "directory", severity: Error, what: "group or others may write to", fix: "chown root:root BIN && chmod 0755 BIN",
		host: func(b *bench) { b.must(os.Chmod(filepath.Dir(b.c.Self), 0o775)) },
	},
	{
		check: "programs-trust", name: "sticky", severity: Error, what: "(mode 1777)", fix: "# move the toolkit's programs to a directory that only root can write (from source: make install)",
		host: func(b *bench) { b.must(os.Chmod(filepath.Dir(b.c.Self), os.ModeSticky|0o777)) },
	},
	{
		check: "programs-trust", name: "setuid", severity: Error, what: "it runs with the rights of its owner or group", fix: "chown root:root BIN/metax-docker && chmod 0755 BIN/metax-docker",
		host: func(b *bench) {
			b.must(syscall.Chmod(filepath.Join(filepath.Dir(b.c.Self), wrapper), 0o4755))
		},
	},
	{
		check: "programs-version", severity: Warning, what: `metax-hook has version "metax-hook 1.0.0", metax-ctk has 1.2.3`, fix: "# reinstall the toolkit's package (from source: make install)",
		host: func(b *bench) {
			b.must(os.WriteFile(filepath.Join(filepath.Dir(b.c.Self), "metax-hook"), []byte("#!/bin/sh\necho metax-hook 1.0.0\n"), 0o755))
		},
	},
	{
		check: "wrapper", severity: Warning, what: "usr/local/bin/metax-docker comes before BIN/metax-docker on PATH", fix: "export PATH=BIN:$PATH",
		tree: func(b *bench) { b.tree["usr/local/bin/metax-docker"] = script("vendor's") },
		host: func(b *bench) { b.environ("PATH=" + b.path("usr/local/bin") + ":" + filepath.Dir(b.c.Self)) },
	},
	{
		check: "wrapper", name: "behind a link that is ours", severity: Warning, what: "usr/local/bin/metax-docker comes before", fix: "export PATH=BIN:$PATH",
		tree: func(b *bench) { b.tree["usr/local/bin/metax-docker"] = script("vendor's") },
		host: func(b *bench) {
			// A link to ours is ours; the one behind it does not run.
			b.put("opt/bin/x", "")
			b.must(os.Symlink(filepath.Join(filepath.Dir(b.c.Self), wrapper), b.path("opt/bin/metax-docker")))
			b.environ("PATH=" + b.path("opt/bin") + ":" + b.path("usr/local/bin"))
			if found := b.findings(); len(found) != 0 {
				b.t.Errorf("a link to ours: %v", found)
			}
			b.environ("PATH=" + b.path("usr/local/bin") + ":" + b.path("opt/bin"))
		},
	},
	{
		check: "config", severity: Error, what: `line 3: unknown key "gpu"`, fix: "# edit DIR" + configPath + ", then: metax-ctk --root DIR config validate",
		host: func(b *bench) { b.c.Settings = errors.New(`read configuration: line 3: unknown key "gpu"`) },
	},
	{
		check: "config-mode", severity: Error, what: "users other than root may change", fix: "chown root:root DIR" + configPath + " && chmod 0644 DIR" + configPath,
		tree: func(b *bench) { b.tree[configPath[1:]] = sim.File{Perm: 0o666} },
	},
	{
		check: "lease-state", severity: Error, what: "can be written by everybody", fix: "chmod o-w DIR/run/metax-container-toolkit/leases",
		host: func(b *bench) {
			b.lease(usage.Lease{ID: "aaaaaaaaaaaa", GPUs: b.bdfs(0)})
			b.must(os.Chmod(b.path("run/metax-container-toolkit/leases"), 0o777))
		},
	},
	{
		check: "lease-lost", severity: Warning, what: "the file of leases is damaged", fix: "metax-ctk --root DIR lease gc",
		host: func(b *bench) {
			b.lease(usage.Lease{ID: "aaaaaaaaaaaa", GPUs: b.bdfs(0)})
			b.put("run/metax-container-toolkit/leases/leases.json", "{")
		},
	},
	{
		check: "lease-over", severity: Info, what: "lease aaaaaaaaaaaa is over", fix: "metax-ctk --root DIR lease gc",
		host: func(b *bench) {
			b.lease(usage.Lease{
				ID: "aaaaaaaaaaaa", GPUs: b.bdfs(0), Engine: "docker", Endpoint: b.path("var/run/docker.sock"),
				Client: usage.Client{PID: 1 << 22, Start: 1}, Container: strings.Repeat("a", 64), Bound: true,
			})
		},
	},
	{
		check: "lease-dir", severity: Warning, what: "leases is missing", fix: "metax-ctk --root DIR lease init",
		tree: func(b *bench) { b.drop("run/metax-container-toolkit/leases") },
	},
	{
		check: "lease-gone", severity: Warning, what: "lease aaaaaaaaaaaa is for GPU 0000:ff:00.0, which is missing", fix: "# stop its container first, then:\nmetax-ctk --root DIR lease release aaaaaaaaaaaa --force",
		host: func(b *bench) { b.lease(usage.Lease{ID: "aaaaaaaaaaaa", GPUs: []gpu.BDF{{Bus: 0xff}}}) },
	},
	{
		check: "container-moved", severity: Warning, what: "container job (docker): it was made for GPU 1 (", fix: "# make it again: metax-docker rm job, then metax-docker create --name=job --gpus='[GPU-4906d7e2-9b86-28a4-9139-6a5dcf605b98]' … image",
		tree: func(b *bench) { b.moved("exited") },
	},
	{
		check: "container-moved", severity: Error, what: "), and its device nodes belong to GPU 0 (" + bdf0 + ") now", fix: "# make it again: metax-docker rm job, then metax-docker create --name=job --gpus='[GPU-4906d7e2-9b86-28a4-9139-6a5dcf605b98]' … image",
		tree: func(b *bench) { b.moved("running") },
	},
	{
		check: "request-ignored", severity: Warning, what: "container job (docker) has no GPU", fix: "# make it again: metax-docker rm job, then metax-docker run --name=job --gpus=1 … image",
		tree: func(b *bench) { b.onlyAsks() },
	},
	{
		check: "holders-seen", severity: Warning, what: "docker at DIR/var/run/docker.sock: ", fix: "metax-ctk --root DIR ps",
		tree: func(b *bench) { b.info["containers"] = "broken" },
	},
	{
		check: "holders-outside", severity: Info, what: "(sleep), in no container, has GPU " + bdf0 + " open", fix: "metax-ctk --root DIR ps",
		host: func(b *bench) { b.holds("dev/dri/renderD128") },
	},
	{
		check: "image", severity: Warning, what: `image "cr.example.com/x:1": `, fix: "docker pull cr.example.com/x:1",
		host: func(b *bench) { b.c.Image = "cr.example.com/x:1" },
	},
	{
		check: "image-driver", severity: Error, what: `image "x": MXMACA 2.32.0.6 with driver 1.0.0`, fix: "metax-docker run --maca-force --gpus=1 x",
		host: func(b *bench) {
			b.facts(func(f *Facts) {
				f.Image = &Image{Ref: "x", Facts: image.Facts{MACA: &image.Install{Version: "2.32.0.6"}}}
				f.Kernel.Module.Version = "1.0.0"
				f.Software.MACA = false // the host's own would be another finding
				f.Software.Version = ""
			})
		},
	},
}
