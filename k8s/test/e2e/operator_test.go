// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

const operatorChart = "oci://" + project + "/metax-operator"

// installOperator installs the chart of the operator with the command of the manual, waits
// until pods can get all GPUs, and returns the name that helm made up.
func (n *node) installOperator(t *testing.T, more ...string) string {
	t.Helper()
	release := n.beginOperator(t, more...)
	n.allocatable(t, len(n.gpus))
	return release
}

// beginOperator installs the chart of the operator, and returns the name that helm made up.
func (n *node) beginOperator(t *testing.T, more ...string) string {
	t.Helper()
	n.push(t)
	n.must(t, "helm", append(append([]string{
		"install", operatorChart, "--version", "<999", "-n", namespace, "--create-namespace", "--generate-name", "--wait",
	}, values...), more...)...)
	release := n.release(t)
	n.allowRights(t, release)
	return release
}

// conditions are those of the ClusterOperator, as TYPE=STATUS REASON.
func (n *node) conditions(t *testing.T) []string {
	t.Helper()
	text := n.must(t, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}{"\n"}{end}`)
	return strings.Split(strings.TrimSpace(text), "\n")
}

// condition waits until the ClusterOperator has a condition, as TYPE=STATUS REASON.
func (n *node) condition(t *testing.T, want string) {
	t.Helper()
	wait(t, "condition "+want, func(context.Context) error {
		if got := n.conditions(t); !slices.Contains(got, want) {
			said := n.must(t, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", `jsonpath={.status.conditions[?(@.status=="False")].message}`)
			return fmt.Errorf("the conditions are %q: %s", got, said)
		}
		return nil
	})
}

// looked waits until the ClusterOperator says that a container got a GPU of the only node, or
// that all are in use.
func (n *node) looked(t *testing.T, got bool) {
	t.Helper()
	want := "every node with a GPU can give it to a container: on 1 node all are in use"
	if got {
		want = "every node with a GPU can give it to a container: a container got one on 1 node"
	}
	wait(t, "a container with a GPU", func(context.Context) error {
		got := n.must(t, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", `jsonpath={.status.conditions[?(@.type=="NodesValidated")].message}`)
		if got != want {
			return fmt.Errorf("the condition says %q", got)
		}
		return nil
	})
}

// sets waits until the namespace has these DaemonSets and no others.
func (n *node) sets(t *testing.T, want ...string) {
	t.Helper()
	wait(t, "DaemonSets", func(ctx context.Context) error {
		list, err := n.Client.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []string
		for _, set := range list.Items {
			got = append(got, set.Name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("there are %q, want %q", got, want)
		}
		return nil
	})
}

// patch merges a spec into that of the ClusterOperator.
func (n *node) patch(t *testing.T, spec string) {
	t.Helper()
	n.must(t, "kubectl", "patch", "clusteroperators", "cluster-operator", "--type=merge", "-p", `{"spec": `+spec+`}`)
}

// TestOperator installs the operator, runs a pod with GPUs, switches components, upgrades and
// removes it.
func TestOperator(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	before := n.trace(t)
	release := n.installOperator(t, "--set", "gpuDevice.onFatal=evict")
	t.Run("pod of the manual", func(t *testing.T) {
		n.create(t, example(t, "manual.yaml", "manual", "look"))
		n.phase(t, "manual", corev1.PodSucceeded)
		n.remove(t, "manual")
	})
	t.Run("helm test", func(t *testing.T) { n.must(t, "helm", "test", release, "-n", namespace) })
	t.Run("conditions", func(t *testing.T) {
		n.condition(t, "Ready=True Deployed")
		want := []string{"Ready=True Deployed", "LabelgenReady=True Deployed", "RuntimeReady=True Host", "DriverReady=True Host", "MACAReady=True Host", "DevicePluginReady=True Deployed", "NodesValidated=True Validated", "ConfigUnderstood=True Understood"}
		if d := cmp.Diff(want, n.conditions(t)); d != "" {
			t.Error(d)
		}
		lines := strings.Split(n.must(t, "kubectl", "get", "clusteroperators"), "\n")
		if got := strings.Fields(lines[1]); !slices.Equal(got[:4], []string{"cluster-operator", "True", "Deployed", "1"}) {
			t.Errorf("kubectl prints %q", lines)
		}
	})
	t.Run("validation", func(t *testing.T) {
		n.looked(t, true)
		if got := n.object(t).Labels["metax-tech.com/validation.ready"]; got != "true" {
			t.Errorf("the label is %q", got)
		}
		file := n.Path("/run/metax-container-toolkit/validation/ready")
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		// All GPUs are in use, and the spec names a device node that does not exist.
		n.runs(t, probePod("all", len(n.gpus), "pause"))
		spec := n.Path("/run/cdi/metax-tech.com-gpu.json")
		text, err := os.ReadFile(spec)
		if err != nil {
			t.Fatal(err)
		}
		bad := bytes.ReplaceAll(text, []byte("/dev/dri/card1\""), []byte("/dev/dri/card99\""))
		if err := os.WriteFile(spec, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		n.condition(t, "NodesValidated=False Incomplete")
		if got := n.object(t).Labels["metax-tech.com/validation.reason"]; got != "BadSpec" {
			t.Errorf("the reason is %q", got)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("the file of a ready node is still there")
		}
		if err := os.WriteFile(spec, text, 0o644); err != nil {
			t.Fatal(err)
		}
		n.condition(t, "NodesValidated=True Validated")
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
		n.looked(t, false)
		n.remove(t, "all")
		n.looked(t, true)
		n.condition(t, "Ready=True Deployed")
	})
	t.Run("a lost GPU", n.losesGPU)
	t.Run("writes nothing but its Lease", n.writesOnlyLease)
	t.Run("switches", func(t *testing.T) {
		n.patch(t, `{"devicePlugin": {"deploy": false}, "dataExporter": {"deploy": true}}`)
		n.sets(t, "metax-exporter", "metax-gpu-label")
		n.allocatable(t, 0)
		n.condition(t, "DataExporterReady=True Deployed")
		n.patch(t, `{"devicePlugin": {"deploy": null}, "minimalMode": true}`)
		n.sets(t, "metax-gpu-device", "metax-gpu-label")
		n.allocatable(t, len(n.gpus))
		n.condition(t, "DataExporterReady=True MinimalMode")
		n.patch(t, `{"minimalMode": false, "dataExporter": {"deploy": false}}`)
		n.condition(t, "Ready=True Deployed")
	})
	t.Run("drift", func(t *testing.T) {
		n.must(t, "kubectl", "-n", namespace, "set", "image", "daemonset/metax-gpu-label", "gpu-label=example.com/other:1")
		wait(t, "the image", func(ctx context.Context) error {
			set, err := n.Client.AppsV1().DaemonSets(namespace).Get(ctx, "metax-gpu-label", metav1.GetOptions{})
			if err == nil && !strings.HasPrefix(set.Spec.Template.Spec.Containers[0].Image, project) {
				err = fmt.Errorf("it is %s", set.Spec.Template.Spec.Containers[0].Image)
			}
			return err
		})
		n.condition(t, "Ready=True Deployed")
	})
	t.Run("paused", func(t *testing.T) {
		n.patch(t, `{"paused": true, "devicePlugin": {"deploy": false}}`)
		n.condition(t, "Ready=False Paused")
		n.sets(t, "metax-gpu-device", "metax-gpu-label")
		n.patch(t, `{"paused": false, "devicePlugin": {"deploy": null}}`)
		n.condition(t, "Ready=True Deployed")
	})
	t.Run("what cannot be done", func(t *testing.T) {
		n.patch(t, `{"driver": {"deployPolicy": "PreferHost", "fwUpgradePolicy": "Always", "payload": {"version": "3.7.0.23-amd64"}}, "topoDiscovery": {"deploy": true}}`)
		n.condition(t, "DriverReady=False NotBuilt")
		n.condition(t, "OptionsSupported=False NotBuilt")
		n.condition(t, "Ready=False NotBuilt")
		n.patch(t, `{"driver": {"deployPolicy": "Never", "fwUpgradePolicy": null}, "topoDiscovery": null, "labelgen": {"podTemplateSpec": {"spec": {"restartPolicy": "Never"}}}}`)
		n.condition(t, "Ready=False Refused")
		n.patch(t, `{"labelgen": {"podTemplateSpec": null}}`)
		n.condition(t, "Ready=True Deployed")
	})
	t.Run("upgrade and rollback", func(t *testing.T) {
		const crd = "clusteroperators.gpu.metax-tech.com"
		n.must(t, "kubectl", "patch", "crd", crd, "--type=json", "-p", `[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns"}]`)
		n.must(t, "helm", append([]string{"upgrade", release, operatorChart, "--version", "999.0.0", "-n", namespace, "--wait", "--set", "log.level=debug"}, values...)...)
		if columns := n.must(t, "kubectl", "get", "crd", crd, "-o", "jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}"); !strings.HasPrefix(columns, "Ready Reason") {
			t.Errorf("after the upgrade, the definition has the columns %q", columns)
		}
		n.argument(t, "metax-gpu-device", "--log-level=debug")
		n.condition(t, "Ready=True Deployed")
		n.must(t, "helm", "rollback", release, "1", "-n", namespace, "--wait")
		n.argument(t, "metax-gpu-device", "--log-level=info")
		n.condition(t, "Ready=True Deployed")
		n.look(t, "after", 1)
		n.remove(t, "after")
	})
	n.uninstall(t, release)
	t.Run("uninstall leaves nothing", func(t *testing.T) {
		if diff := cmp.Diff(before, n.trace(t)); diff != "" {
			t.Errorf("what the cluster and the node had before (-) and have afterwards (+):\n%s", diff)
		}
	})
}

// writesOnlyLease lets the controller look again, and wants it to write nothing to the API
// server but its Lease.
func (n *node) writesOnlyLease(t *testing.T) {
	n.must(t, "kubectl", "label", "node", cluster.NodeName, "example.com/look=1") // a Node that changes
	n.useRights(t, false)
	from, before := n.audited, n.status(t)
	time.Sleep(10 * time.Second) // some renewals of the Lease
	n.must(t, "kubectl", "label", "node", cluster.NodeName, "example.com/look-")
	leases := 0
	for _, e := range n.events(t, from) {
		switch verb := e.Verb; {
		case e.User.Username != "system:serviceaccount:"+namespace+":metax-operator" || slices.Contains([]string{"get", "list", "watch"}, verb):
		case verb == "update" && e.ObjectRef.Resource == "leases":
			leases++
		default:
			t.Errorf("it writes: %s %s/%s %s; the status before (-) and now (+):\n%s", verb, e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Name, cmp.Diff(before, n.status(t)))
		}
	}
	if leases == 0 {
		t.Error("the audit log shows no renewal of the Lease, so it shows nothing")
	}
}

// status is that of the ClusterOperator.
func (n *node) status(t *testing.T) (status map[string]any) {
	t.Helper()
	text := n.must(t, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", "jsonpath={.status}")
	if err := json.Unmarshal([]byte(text), &status); err != nil {
		t.Fatalf("read %s: %v", text, err)
	}
	return status
}

// argument waits until the first container of a DaemonSet has an argument.
func (n *node) argument(t *testing.T, name, argument string) {
	t.Helper()
	wait(t, argument, func(ctx context.Context) error {
		set, err := n.Client.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !slices.Contains(set.Spec.Template.Spec.Containers[0].Args, argument) {
			err = fmt.Errorf("%s has %q", name, set.Spec.Template.Spec.Containers[0].Args)
		}
		return err
	})
}

// events are those of the audit log from an offset on.
func (n *node) events(t *testing.T, from int) (list []auditv1.Event) {
	t.Helper()
	log, err := os.ReadFile(n.Path(cluster.AuditLog))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(log[from : bytes.LastIndexByte(log, '\n')+1]) {
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		list = append(list, event)
	}
	return list
}

// TestOperatorLife has a cluster with the vendor's ClusterOperator and definition, the
// refusals of charts that do not fit together, and uninstalls without --wait and without a
// controller.
func TestOperatorLife(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	before := n.trace(t)
	n.push(t)
	refused := func(chart, want string) {
		t.Helper()
		_, err := n.Run(within(t), "helm", append([]string{"install", "second", "oci://" + project + "/" + chart, "--version", "<999", "-n", "other", "--create-namespace"}, values...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want helm to refuse %s: %v", chart, err)
		}
	}
	release := n.installOperator(t)
	for _, chart := range []string{"metax-operator", "metax-gpu-extensions"} {
		refused(chart, "an operator for MetaX GPUs is in this cluster: ClusterOperator cluster-operator of the release "+namespace+"/"+release)
	}
	t.Run("objects", func(t *testing.T) {
		vendor, err := os.ReadFile(filepath.Join("..", "..", "api", "v1alpha1", "testdata", "vendor.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.WriteFile("/tmp/vendor.yaml", string(vendor)); err != nil {
			t.Fatal(err)
		}
		for _, spec := range []string{`{"driver": {"deployPolicy": "Always"}}`, `{"maca": {"payload": {"images": ["maca"]}}}`, `{"labelgen": {"log": {"level": "loud"}}}`} {
			if _, err := n.Run(within(t), "kubectl", "patch", "clusteroperators", "cluster-operator", "--type=merge", "-p", `{"spec": `+spec+`}`); err == nil {
				t.Errorf("the API server takes %s", spec)
			}
		}
		n.must(t, "kubectl", "apply", "--server-side", "--force-conflicts", "-f", "/tmp/vendor.yaml")
		n.condition(t, "DriverReady=False Progressing") // the registry has no such image
		n.condition(t, "MACAReady=False Progressing")
		n.condition(t, "Ready=False Progressing")
		n.condition(t, "DevicePluginReady=True Deployed")
		if kept := n.must(t, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", "jsonpath={.spec.driver.upgradePolicy.upgradeSteps[0].pauseDuration} {.spec.cluster.type}"); kept != "30000 k8s" {
			t.Errorf("of the vendor's fields, the API server has %q", kept)
		}
	})
	n.useRights(t, false)
	n.must(t, "helm", "uninstall", release, "-n", namespace)
	n.gone(t)
	n.useRights(t, true)
	if diff := cmp.Diff(before, n.trace(t)); diff != "" {
		t.Errorf("before (-) and after an uninstallation without --wait (+):\n%s", diff)
	}

	// The hook lets the ClusterOperator go if the controller is gone.
	release = n.installOperator(t)
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
	if diff := cmp.Diff(before, n.trace(t)); diff != "" {
		t.Errorf("before (-) and after an uninstallation without a controller (+):\n%s", diff)
	}
}

// gone waits until the namespace has no pods.
func (n *node) gone(t *testing.T) {
	t.Helper()
	wait(t, "the end of the chart's pods", func(ctx context.Context) error {
		list, err := n.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%s is still there", list.Items[0].Name)
		}
		return err
	})
}
