// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore/nodescoretest"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/placement"
)

// TestVolcanoScale measures what the extender costs Volcano with 1,000 nodes, as TestScale does
// with Kubernetes' own scheduler. A question has all nodes with all that Volcano knows of them.
// As the chart advises for so many nodes, Volcano does not also ask about each of them.
func TestVolcanoScale(t *testing.T) {
	if !night {
		t.Skip("takes long: METAX_K8S_NIGHT=1")
	}
	program := scheduler(t, volcanoVariable)
	n := newNode(t, "c500-8")
	// No kubelet will ever say that the nodes are ready.
	if err := n.Daemon("kube-controller-manager").Stop(); err != nil {
		t.Fatal(err)
	}
	if err := n.RunAware(within(t), volcanoBody); err != nil {
		t.Fatal(err)
	}
	n.push(t)
	predicate := regexp.MustCompile(`(?m)^.*\bpredicateVerb: .*\n`)
	plugin := n.volcanoPlugin(t)
	if !predicate.MatchString(plugin) {
		t.Fatalf("no predicateVerb in\n%s", plugin)
	}
	n.runVolcano(t, program, predicate.ReplaceAllString(plugin, ""), "--percentage-nodes-to-find=100")
	r := rand.New(rand.NewPCG(20, 4))
	nodes := nodescoretest.Random(r, 1000)
	if err := n.createNodes(t.Context(), nodes, func(int) string { return "scale" }); err != nil {
		t.Fatal(err)
	}
	f := n.scale(t, r, cluster.Volcano, "volcano/predicate", "volcano/prioritize")
	f.Nodes = len(nodes)
	n.onBare(t, nodes)
	if f.Prioritize.Count == 0 {
		t.Error("Volcano did not ask")
	}
	t.Logf("%+v", f)
	record(t, func(all *placement.Figures) { all.Volcano = &f })
}
