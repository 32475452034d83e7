// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestSkewChart upgrades the chart from the version that stands for the first tag to this one
// while a pod has GPUs, and rolls back after pods of this version ran. At every step the pod
// keeps its GPUs, and four others go to exactly one more pod.
func TestSkewChart(t *testing.T) {
	t.Parallel()
	archive := firstArchive(t)
	n := newNode(t, "c500-8")
	n.push(t)
	if err := os.WriteFile(n.Path("/tmp/first.run"), archive, 0o755); err != nil {
		t.Fatal(err)
	}
	n.must(t, "/tmp/first.run", "push", project)
	n.must(t, "helm", append([]string{
		"install", "gpus", "oci://" + project + "/metax-gpu-extensions", "--version", "0.0.1", "-n", namespace, "--create-namespace", "--wait",
	}, values...)...)
	n.allocatable(t, len(n.gpus))
	n.allowRights(t, "gpus")
	n.create(t, probePod("keeps", 4, "pause"))
	n.phase(t, "keeps", corev1.PodRunning)
	gpus := n.given(t, "keeps")
	n.runsVersion(t, "0.0.1")
	n.shareRest(t)
	sockets := n.sockets(t)
	n.must(t, "helm", append([]string{
		"upgrade", "gpus", "oci://" + project + "/metax-gpu-extensions", "--version", n.version(t), "-n", namespace, "--wait",
	}, values...)...)
	n.allowRights(t, "gpus")
	n.anotherSocket(t, sockets)
	n.runsVersion(t, n.version(t))
	n.shareRest(t)

	// A pod of this version runs on, when the chart is the first again.
	n.runs(t, probePod("later", 2, "pause"))
	later := n.given(t, "later")
	sockets = n.sockets(t)
	n.must(t, "helm", "rollback", "gpus", "1", "-n", namespace, "--wait")
	n.anotherSocket(t, sockets)
	n.runsVersion(t, "0.0.1")
	n.allocatable(t, len(n.gpus))
	n.runs(t, probePod("last", 2, "pause"))
	n.create(t, probePod("none", 1, "pause"))
	n.insufficient(t, "none")
	if got := n.given(t, "later"); !slices.Equal(got, later) {
		t.Errorf("the pod had the GPUs %d, and has %d after the rollback", later, got)
	}
	all := slices.Concat(n.given(t, "keeps"), later, n.given(t, "last"))
	slices.Sort(all)
	if len(slices.Compact(all)) != len(n.gpus) {
		t.Errorf("the pods have the GPUs %d, want each GPU once", all)
	}
	for _, pod := range []string{"none", "last", "later"} {
		n.remove(t, pod)
	}
	n.shareRest(t)
	if got := n.given(t, "keeps"); !slices.Equal(got, gpus) {
		t.Errorf("the pod had the GPUs %d, and has %d after upgrade and rollback", gpus, got)
	}
	n.remove(t, "keeps")
	n.uninstall(t, "gpus")
}

// runsVersion wants the device plugin to run from an image of the version.
func (n *node) runsVersion(t *testing.T, version string) {
	t.Helper()
	for _, c := range n.agent(t, "metax-gpu-device").Spec.Containers {
		if !strings.HasSuffix(c.Image, ":"+version) {
			t.Errorf("container %s runs %s, want version %s", c.Name, c.Image, version)
		}
	}
}

// firstArchive is the program with images and charts of the version that stands for the first
// tag.
func firstArchive(t *testing.T) []byte {
	t.Helper()
	var said strings.Builder
	get := exec.CommandContext(t.Context(), "../../../test/first/get", "images")
	get.Stderr = &said
	dir, err := get.Output()
	if err != nil {
		t.Fatalf("test/first/get: %v\n%s", err, said.String())
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "archives", "metax-k8s-images.*.run"))
	if err != nil || len(found) != 1 {
		t.Fatalf("archives of the first version: %q, %v", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}
