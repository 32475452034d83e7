// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// stated is a template that states the data of a ConfigMap that people edit, as charts did
// before edits and values stood apart.
const stated = `apiVersion: v1
kind: ConfigMap
metadata: {name: metax-device-config, namespace: {{ .Release.Namespace }}}
data: {version: v1, cluster-config: "mode: native", nodes-config: "[]"}
`

// TestEditsBefore upgrades from such a chart: no edit is lost, then and later.
func TestEditsBefore(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.push(t)
	const old = "/tmp/old"
	n.must(t, "helm", "pull", "oci://"+project+"/metax-gpu-extensions", "--version", "<999", "--untar", "-d", old)
	if err := n.WriteFile(old+"/metax-gpu-extensions/templates/gpu-device/config.yaml", stated); err != nil {
		t.Fatal(err)
	}
	n.must(t, "helm", append([]string{"install", "gpus", old + "/metax-gpu-extensions", "-n", namespace, "--create-namespace"}, values...)...)
	n.config(t, map[string]string{"cluster-config": "mode: shared"})
	upgrade := []string{"upgrade", "gpus", "oci://" + project + "/metax-gpu-extensions", "--version", "<999", "-n", namespace, "--reuse-values"}
	_, err := n.Run(within(t), "helm", upgrade...)
	keep := "kubectl annotate configmap -n " + namespace + " metax-device-config helm.sh/resource-policy=keep"
	if err == nil || !strings.Contains(err.Error(), keep) {
		t.Fatalf("want helm to refuse and to say %s: %v", keep, err)
	}
	n.must(t, "sh", "-c", keep)
	holds := func(when string) {
		t.Helper()
		if got := n.must(t, "kubectl", "get", "cm", "-n", namespace, "metax-device-config", "-o", "jsonpath={.data.cluster-config}"); got != "mode: shared" {
			t.Errorf("%s: the ConfigMap says %q", when, got)
		}
	}
	for _, when := range []string{"the first upgrade", "the second", "the third"} {
		n.must(t, "helm", upgrade...)
		holds(when)
	}
	for _, revision := range []string{"3", "2"} {
		n.must(t, "helm", "rollback", "gpus", revision, "-n", namespace)
		holds("a rollback to " + revision)
	}
	n.must(t, "helm", upgrade...)
	holds("an upgrade after it")
	n.must(t, "helm", "uninstall", "gpus", "-n", namespace, "--no-hooks")
	if got := n.must(t, "kubectl", "get", "cm", "-n", namespace, "-o", "name"); strings.Contains(got, "metax-device-config") {
		t.Errorf("an uninstallation leaves %s", got)
	}
	t.Run("failed installation", n.failedInstallation)
}

// failedInstallation installs both charts with a wrong registry, repairs what can be repaired,
// and removes the operator while its jobs cannot run.
func (n *node) failedInstallation(t *testing.T) {
	typo := "registry=" + project + "-typo"
	fails := func(says string, args ...string) {
		t.Helper()
		if _, err := n.Run(within(t), "helm", args...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("helm %q: want an error with %q, got %v", args, says, err)
		}
	}
	install := func(name, chart string, more ...string) []string {
		return append(append([]string{"install", name, "oci://" + project + chart, "--version", "<999", "-n", namespace, "--wait"}, values...), more...)
	}
	fails("", install("gpus", "/metax-gpu-extensions", "--set", typo, "--timeout=15s")...)
	n.must(t, "helm", "uninstall", "gpus", "-n", namespace, "--no-hooks", "--wait")

	n.must(t, "sh", "-c", "rm -r "+cluster.NodeDir+"/opt/maca*")
	fails("", install("ops", "/metax-operator", "--set", typo, "--timeout=15s")...)
	n.upgrade(t, "ops", "/metax-operator", append([]string{"--reuse-values"}, values...)...)
	n.allocatable(t, len(n.gpus))
	n.patch(t, `{"maca": {"payload": {"images": ["maca-c500:9.9"], "registry": "`+project+`"}}}`)
	n.says(t, "MACADeployed", project+"/maca-c500:9.9 on "+cluster.NodeName+": ")

	upgrade := []string{"upgrade", "ops", "oci://" + project + "/metax-operator", "--version", "<999", "-n", namespace, "--reuse-values", "--set", "controller.image.name=typo", "--set", "hookDeadline=30"}
	fails("pre-upgrade hooks failed", upgrade...)
	if got := n.must(t, "kubectl", "get", "job", "-n", namespace, "-o", "name"); !strings.Contains(got, "metax-operator-define") {
		t.Errorf("the job that failed is gone: %q", got)
	}
	n.must(t, "helm", append(upgrade, "--no-hooks")...)
	fails("", "uninstall", "ops", "-n", namespace, "--timeout=100s")
	n.must(t, "helm", "uninstall", "ops", "-n", namespace, "--no-hooks")
	n.must(t, "kubectl", "patch", "clusteroperators", "cluster-operator", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`) // as the page says
	n.must(t, "helm", install("ops", "/metax-operator")...)
	n.allocatable(t, len(n.gpus))
}
