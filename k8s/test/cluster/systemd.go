// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// RunSystemd ends containerd, and starts it again as a unit of a systemd, which is the first
// process of namespaces of its own below those of the node. What the kubelet mounts reaches
// containerd.
func (c *Cluster) RunSystemd(ctx context.Context) error {
	if err := c.Daemon(Containerd).Stop(); err != nil {
		return err
	}
	unified := "/sys/fs/cgroup"
	if layout() == sandbox.Hybrid {
		unified += "/unified"
	}
	for name, text := range map[string]string{
		"/etc/systemd/system/containerd.service": containerdUnit,
		"/run/systemd.sh":                        fmt.Sprintf(startSystemd, unified+c.Cgroup()+"/systemd"),
	} {
		if err := c.WriteFile(name, text); err != nil {
			return err
		}
	}
	return c.launch(ctx, program{name: "systemd", argv: []string{"sh", "-e", "/run/systemd.sh"}, ready: func(ctx context.Context, c *Cluster) error {
		if _, err := c.Systemctl(ctx, "is-active", "containerd"); err != nil {
			return err
		}
		return listens(containerdSocket)(ctx, c)
	}})
}

// Systemctl runs systemctl, which must be where systemd sees its process.
func (c *Cluster) Systemctl(ctx context.Context, args ...string) (string, error) {
	return c.Run(ctx, "sh", append([]string{"-c", `exec nsenter --target "$(pgrep --exact systemd)" --mount --pid systemctl "$@"`, "sh"}, args...)...)
}

// containerdUnit has the options of Debian's unit that a restart needs. systemd sees version 2
// of the cgroups only, containerd what the kubelet sees.
const containerdUnit = `[Unit]
DefaultDependencies=no
[Service]
Type=notify
Delegate=yes
KillMode=process
Environment=PATH=` + sandbox.BinDir + `:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=unshare --mount --propagation unchanged sh -c 'mount --rbind /run/cgroups /sys/fs/cgroup; exec containerd'
StandardOutput=append:/var/log/containerd.log
StandardError=inherit
`

// startSystemd becomes systemd in a cgroup, which is no place for the kubelet's pods.
const startSystemd = `mount --make-rshared /
mkdir -p %[1]s /run/cgroups /run/settings
echo $$ >%[1]s/cgroup.procs
exec unshare --mount --pid --uts --fork --propagation slave sh -ec '
mount --rbind /sys/fs/cgroup /run/cgroups
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --rbind /proc/sys /run/settings
mount -t proc proc /proc
mount --rbind /run/settings /proc/sys
exec env container=test /usr/lib/systemd/systemd --unit=containerd.service --log-target=null
'
`
