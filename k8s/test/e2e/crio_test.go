// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestCRIO runs the chart and a pod with four GPUs on a node with CRI-O, which gets them by
// CDI.
func TestCRIO(t *testing.T) {
	if fixtures.CRIO == "" {
		t.Skip("CRI-O is built only with METAX_K8S_NIGHT")
	}
	t.Parallel()
	n := newNodeWith(t, cluster.CRIO, "c500-8")
	if engine := n.object(t).Status.NodeInfo.ContainerRuntimeVersion; !strings.HasPrefix(engine, "cri-o://1.34.") {
		t.Fatalf("the engine of the node is %s", engine)
	}
	release := n.install(t)
	if seen := n.seen(t, n.look(t, "four", 4)); len(seen) != 4 {
		t.Errorf("the pod has the GPUs %d, want four", seen)
	}
	if log := n.must(t, "kubectl", "logs", "-n", namespace, "daemonset/metax-gpu-device", "-c", "gpu-device"); !strings.Contains(log, `"cdi":true`) {
		t.Errorf("the GPUs do not come by CDI:\n%s", log)
	}
	n.must(t, "helm", "test", release, "-n", namespace)
	n.remove(t, "four")
	n.uninstall(t, release)
}
