// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"
)

// Control starts the controller manager again with some controllers alone, such as without the
// one that says of nodes without a kubelet that they are not ready.
func (c *Cluster) Control(ctx context.Context, controllers ...string) error {
	if err := c.Daemon("kube-controller-manager").Stop(); err != nil {
		return err
	}
	return c.launch(ctx, program{argv: []string{
		"kube-controller-manager", "--kubeconfig=" + dir + "/admin.conf", "--leader-elect=false",
		"--service-account-private-key-file=" + dir + "/accounts.key", "--root-ca-file=" + dir + "/ca.crt",
		"--kube-api-qps=200", "--kube-api-burst=400", "--controllers=" + strings.Join(controllers, ","),
	}, ready: started})
}
