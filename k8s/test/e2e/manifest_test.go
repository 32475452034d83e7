// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestManifest installs and removes the chart without Helm, with the manifests and the
// commands of the page.
func TestManifest(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	before := n.trace(t)
	plain, cleanup := n.manifest(t, "metax-gpu-extensions.yaml"), n.manifest(t, "metax-gpu-extensions-cleanup.yaml")
	n.must(t, "kubectl", "apply", "-f", plain)
	n.allocatable(t, len(n.gpus))
	if seen := n.seen(t, n.look(t, "four", 4)); len(seen) != 4 {
		t.Errorf("the pod has the GPUs %d, want four", seen)
	}
	n.remove(t, "four")
	n.must(t, "kubectl", "delete", "-f", plain)
	n.must(t, "kubectl", "apply", "-f", cleanup)
	n.must(t, "kubectl", "wait", "-n", namespace, "--for=condition=complete", "--timeout=5m", "job/metax-gpu-cleanup")
	n.must(t, "kubectl", "delete", "-f", cleanup)
	if diff := cmp.Diff(before, n.trace(t)); diff != "" {
		t.Errorf("what the cluster and the node had before (-) and have afterwards (+):\n%s", diff)
	}
}

// manifest is a file of the node with a manifest of the charts, its images those of the
// registry and its GPUs those of the simulated node.
func (n *node) manifest(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../charts", name))
	if err != nil {
		t.Fatal(err)
	}
	changes := []string{"ghcr.io/metax-ctk", project, "--engine-root=/\n", "--engine-root=" + cluster.NodeDir + "\n"}
	for _, dir := range []string{"sys", "dev", "opt"} {
		changes = append(changes, `{path: "/`+dir+`"`, `{path: "`+cluster.NodeDir+"/"+dir+`"`)
	}
	at := "/tmp/" + name
	if err := n.WriteFile(at, strings.NewReplacer(changes...).Replace(string(text))); err != nil {
		t.Fatal(err)
	}
	return at
}
