// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// systemctl runs systemctl, which has to succeed.
func (n *node) systemctl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := n.Systemctl(within(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// engineProcess is the process of containerd, as systemd counts.
func (n *node) engineProcess(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(n.systemctl(t, "show", "--property=MainPID", "--value", "containerd"))
}

// TestOperatorSystemd sets containerd up without CDI where systemd runs: it is restarted once,
// while a pod runs, and not again when nothing changes or when everything is taken back. Where
// it does not start with its new files, they become what they were. Then it is set up with
// metax as the default runtime, and taken back.
func TestOperatorSystemd(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	if err := n.RunSystemd(within(t)); err != nil {
		t.Fatal(err)
	}
	before, engine := n.trace(t), n.engineFiles(t)
	n.runs(t, probePod("stays", 0, "pause"))

	// A unit that ends when containerd has files that it cannot start with.
	const refuse = "/etc/systemd/system/containerd.service.d/refuse.conf"
	if err := n.WriteFile(refuse, "[Service]\nExecStartPre=sh -c '! grep -rl metax-runtime /etc/containerd'\n"); err != nil {
		t.Fatal(err)
	}
	n.systemctl(t, "daemon-reload")
	old := n.engineProcess(t)
	release := n.beginOperator(t, "--set", "runtime.config.cdiMode=false")
	n.labels(t, "runtime.reason=RestartFailed")
	n.says(t, "RuntimeReady", "its files are as before, and it was restarted with them; see journalctl -u containerd")
	if d := cmp.Diff(engine, n.engineFiles(t)); d != "" {
		t.Errorf("containerd's files before (-) and after the failure (+):\n%s", d)
	}
	n.systemctl(t, "is-active", "containerd")
	if n.engineProcess(t) == old {
		t.Error("containerd was not restarted")
	}

	if err := os.Remove(n.Path(refuse)); err != nil {
		t.Fatal(err)
	}
	n.systemctl(t, "daemon-reload")
	old = n.engineProcess(t)
	n.must(t, "kubectl", "-n", namespace, "delete", "pod", "-l", "app.kubernetes.io/name=metax-container-runtime")
	n.condition(t, "RuntimeReady=True Deployed")
	n.condition(t, "Ready=True Deployed")
	restarted := n.engineProcess(t)
	if restarted == old {
		t.Error("containerd was not restarted")
	}
	n.create(t, runtimePod("looks", append([]string{"look"}, n.numbers(t)...)...))
	n.phase(t, "looks", corev1.PodSucceeded)
	if seen := n.seen(t, n.report(t, "looks")); len(seen) != 1 {
		t.Errorf("the pod has the GPUs %d, want one", seen)
	}
	n.remove(t, "looks")

	n.must(t, "kubectl", "-n", namespace, "delete", "pod", "-l", "app.kubernetes.io/name=metax-container-runtime")
	n.condition(t, "RuntimeReady=True Deployed")
	n.uninstall(t, release)
	if n.engineProcess(t) != restarted {
		t.Error("containerd was restarted though nothing had changed")
	}
	n.phase(t, "stays", corev1.PodRunning)
	n.remove(t, "stays")
	n.isAsBefore(t, before, engine)

	// As the default runtime, it needs a second restart when it is taken back. The pods that
	// do so were started by it, so it stays as a runtime that containers can name.
	isDefault := func() bool {
		for _, text := range n.engineFiles(t) {
			if strings.Contains(text, `default_runtime_name = "metax"`) || strings.Contains(text, "default_runtime_name = 'metax'") {
				return true
			}
		}
		return false
	}
	release = n.installOperator(t, "--set", "runtime.config.cdiMode=false", "--set", "runtime.config.setAsDefault=true")
	n.condition(t, "RuntimeReady=True Deployed")
	restarted = n.engineProcess(t)
	if !isDefault() {
		t.Error("metax is not the default runtime")
	}
	n.uninstall(t, release)
	if isDefault() || n.engineProcess(t) == restarted {
		t.Error("metax is still the default runtime of the containerd that runs")
	}
}
