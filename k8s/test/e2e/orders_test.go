// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestOperatorOrders removes the operator in the orders that people do: the ClusterOperator
// first, its definition first, the namespace first. The node is one of the control plane, as
// small clusters have.
func TestOperatorOrders(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.must(t, "kubectl", "taint", "node", cluster.NodeName, "node-role.kubernetes.io/control-plane=:NoSchedule")
	before := n.trace(t)
	nothingLeft := func(t *testing.T) {
		t.Helper()
		if d := cmp.Diff(before, n.trace(t)); d != "" {
			t.Errorf("what the cluster and the node had before (-) and have afterwards (+):\n%s", d)
		}
	}
	t.Run("object first", func(t *testing.T) {
		release := n.installOperator(t)
		n.must(t, "kubectl", "delete", "clusteroperators", "cluster-operator", "--timeout=2m")
		n.sets(t)
		n.allocatable(t, 0)
		n.uninstall(t, release)
		nothingLeft(t)
	})
	t.Run("definition first", func(t *testing.T) {
		release := n.installOperator(t)
		n.must(t, "kubectl", "delete", "customresourcedefinitions", "clusteroperators.gpu.metax-tech.com", "--timeout=2m")
		n.uninstall(t, release)
		nothingLeft(t)
	})
	t.Run("namespace first", func(t *testing.T) {
		release := n.installOperator(t)
		n.useRights(t, false)
		n.must(t, "kubectl", "delete", "namespace", namespace, "--timeout=3m")
		// What is not in the namespace stays. The same release takes it over, and can then be
		// removed.
		n.must(t, "helm", append([]string{"install", release, operatorChart, "--version", "<999", "-n", namespace, "--create-namespace", "--wait"}, values...)...)
		n.allocatable(t, len(n.gpus))
		n.uninstall(t, release)
		nothingLeft(t)
	})
}
