// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/metax-ctk/container-toolkit/test/machine"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

// NodeDir is the directory of the node with the tree of a simulated node with GPUs.
const NodeDir = "/node"

const (
	dir        = "/etc/kubernetes"
	tunableDir = "/run/tunables"
)

// layout is the cgroup layout of the node: version 2 where the machine has nothing else.
func layout() sandbox.Layout {
	if sandbox.Hybrid.Available() != nil {
		return sandbox.V2
	}
	return sandbox.Hybrid
}

// furnish writes the files of the node, makes its cgroup, its network and its GPUs.
func (c *Cluster) furnish(ctx context.Context, node string) error {
	files := map[string]string{
		"/etc/passwd":                     "root:x:0:0:root:/root:/bin/sh\n",
		"/etc/group":                      "root:x:0:\n",
		"/etc/hosts":                      "127.0.0.1 localhost\n",
		"/etc/resolv.conf":                "",
		"/etc/cni/net.d/10-pods.conflist": network,
		dir + "/tokens.csv":               tokens,
		dir + "/admin.conf":               kubeconfig(adminToken),
		dir + "/kubelet.conf":             kubeconfig(nodeToken),
		dir + "/kubelet.yaml":             c.kubeletConfig(),
		dir + "/proxy.yaml":               proxyConfig,
		dir + "/audit.yaml":               auditPolicy,
	}
	pem, err := keys(net.ParseIP(nodeAddress), net.ParseIP(firstInCIDR), net.IPv4(127, 0, 0, 1))
	if err != nil {
		return fmt.Errorf("make the cluster's keys: %w", err)
	}
	for name, text := range pem {
		files[dir+"/"+name] = string(text)
	}
	script := setUp
	for name, value := range tunables {
		at := filepath.Join(tunableDir, strings.ReplaceAll(name, "/", "."))
		files[at] = value + "\n"
		script += fmt.Sprintf("mount --bind %s /proc/sys/%s\n", at, name)
	}
	for name, text := range files {
		if err := c.WriteFile(name, text); err != nil {
			return err
		}
	}
	if _, err := machine.FitRuntimes(c.Path("/"), c.Path(sandbox.BinDir+"/lowlevel")); err != nil {
		return err
	}
	if err := c.makeCgroup(); err != nil {
		return fmt.Errorf("make the cgroup of the pods: %w", err)
	}
	if _, err := c.Run(ctx, "sh", "-ec", script); err != nil {
		return err
	}
	_, err = c.Run(ctx, "metax-ctk", "sim", "create", node, NodeDir)
	return err
}

// setUp gives the node an address with a default route and a kernel log, which the kubelet
// demands, and keeps everything from changing settings of the machine: only those of the own
// network can be written. The simulated node has a file system of its own, so that it is not
// full when that of the machine is.
const setUp = `ip link set lo up
ip link add uplink type veth peer name far
ip addr add ` + nodeAddress + `/24 dev uplink
ip link set uplink up
ip link set far up
ip route add default via 10.10.0.254 dev uplink
ln -s null /dev/kmsg
mkdir -p /opt/cni
ln -s /usr/lib/cni /opt/cni/bin
mount --bind /proc/sys /proc/sys
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,bind,ro /proc/sys
mkdir ` + NodeDir + `
mount -t tmpfs tmpfs ` + NodeDir + `
`

// makeCgroup makes the cgroup of the pods in every hierarchy: the kubelet wants one that
// exists.
func (c *Cluster) makeCgroup() error {
	root := c.Path("/sys/fs/cgroup")
	if layout() == sandbox.V2 {
		// Where the controllers are not passed on yet, the kubelet says which it misses.
		os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+cpu +cpuset +memory +pids +io"), 0)
		return os.Mkdir(filepath.Join(root, c.Cgroup()), 0o755)
	}
	hierarchies, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		parent := filepath.Join(root, hierarchy.Name())
		at := filepath.Join(parent, c.Cgroup())
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
		// A new cpuset is empty, and takes no process before it has processors and memory.
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(filepath.Join(parent, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err := errors.Join(err, os.WriteFile(filepath.Join(at, name), text, 0)); err != nil {
				return err
			}
		}
	}
	return nil
}
