// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
)

const dockerSocket = "/run/docker.sock"

// StartDocker starts a docker daemon on the node, beside the engine of the kubelet.
func (c *Cluster) StartDocker(ctx context.Context) error {
	config, err := json.Marshal(map[string]any{
		"bridge": "none", "iptables": false, "ip6tables": false, "storage-driver": "overlay2", "cgroup-parent": c.Cgroup(),
		"containerd": containerdSocket, "features": map[string]bool{"cdi": true},
	})
	if err != nil {
		return err
	}
	if err := c.WriteFile("/etc/docker/daemon.json", string(config)); err != nil {
		return err
	}
	return c.launch(ctx, program{argv: []string{"dockerd"}, ready: listens(dockerSocket)})
}
