// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// engineFiles are the files that configure containerd, with their contents.
func (n *node) engineFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(n.Path("/etc/containerd"), func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(at)
		files[at] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// restartEngine restarts containerd by hand, as the condition says: systemd does not run on
// this node.
func (n *node) restartEngine(t *testing.T) {
	t.Helper()
	n.labels(t, "runtime.reason=RestartNeeded")
	n.says(t, "RuntimeReady", "systemctl restart containerd")
	daemon := n.Daemon("containerd")
	if err := daemon.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(within(t)); err != nil {
		t.Fatal(err)
	}
	n.condition(t, "RuntimeReady=True Deployed")
}

// runtimePod is a pod of the RuntimeClass metax with a GPU.
func runtimePod(name string, probe ...string) *corev1.Pod {
	pod := probePod(name, 1, probe...)
	class := "metax"
	pod.Spec.RuntimeClassName = &class
	return pod
}

// TestOperatorRuntime sets containerd up without CDI, runs pods by it, and takes it back: by a
// switch while a pod uses it, by an uninstallation, and by one without a controller.
func TestOperatorRuntime(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	before, engine := n.trace(t), n.engineFiles(t)
	const withoutCDI = "runtime.config.cdiMode=false"
	release := n.installOperator(t, "--set", withoutCDI)
	n.restartEngine(t)
	n.create(t, runtimePod("looks", append([]string{"look"}, n.numbers(t)...)...))
	n.phase(t, "looks", corev1.PodSucceeded)
	if seen := n.seen(t, n.report(t, "looks")); len(seen) != 1 {
		t.Errorf("the pod has the GPUs %d, want one", seen)
	}
	n.remove(t, "looks")

	n.runs(t, runtimePod("stays", "pause"))
	n.patch(t, `{"runtime": {"config": {"cdiMode": true}}}`)
	n.labels(t, "runtime.reason=InUse")
	if cmp.Equal(engine, n.engineFiles(t)) {
		t.Error("the handler of a pod that runs is gone")
	}
	n.remove(t, "stays")
	n.condition(t, "RuntimeReady=True Host")
	n.sets(t, "metax-gpu-device", "metax-gpu-label")
	if d := cmp.Diff(engine, n.engineFiles(t)); d != "" {
		t.Errorf("containerd's files before (-) and after the switch (+):\n%s", d)
	}

	n.patch(t, `{"runtime": {"config": {"cdiMode": false}}}`)
	n.restartEngine(t)
	n.uninstall(t, release)
	n.isAsBefore(t, before, engine)

	// Without a controller.
	release = n.installOperator(t, "--set", withoutCDI)
	n.restartEngine(t)
	n.useRights(t, false)
	n.must(t, "kubectl", "-n", namespace, "scale", "deployment/metax-operator", "--replicas=0")
	n.must(t, "kubectl", "-n", namespace, "wait", "--for=delete", "pod", "-l", "app.kubernetes.io/name=metax-operator", "--timeout=60s")
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	if _, err := n.Run(ctx, "helm", "uninstall", release, "-n", namespace, "--wait"); err != nil {
		t.Fatal(err)
	}
	n.gone(t)
	n.useRights(t, true)
	n.isAsBefore(t, before, engine)
}

// isAsBefore compares what the cluster, the node and containerd's files were before.
func (n *node) isAsBefore(t *testing.T, before map[string][]string, engine map[string]string) {
	t.Helper()
	if d := cmp.Diff(before, n.trace(t)); d != "" {
		t.Errorf("before (-) and after the uninstallation (+):\n%s", d)
	}
	if d := cmp.Diff(engine, n.engineFiles(t)); d != "" {
		t.Errorf("containerd's files before (-) and after the uninstallation (+):\n%s", d)
	}
}
