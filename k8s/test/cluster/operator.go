// SPDX-License-Identifier: Apache-2.0

package cluster

import "context"

// Operator is the controller of this source tree.
const Operator = "metax-operator"

// RunOperator runs the operator's controller as a program of the node, for a namespace.
func (c *Cluster) RunOperator(ctx context.Context, namespace string) error {
	return c.launch(ctx, program{argv: []string{
		Operator, "controller", "--namespace=" + namespace, "--driver-upgrades", "--health-address=0", "--metrics-address=127.0.0.1:8181", "--kubeconfig=" + dir + "/admin.conf", "--log-dir=",
	}, ready: serves("127.0.0.1:8181")})
}
