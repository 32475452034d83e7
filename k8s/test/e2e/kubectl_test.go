// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

// TestKubectl looks at a cluster with kubectl metax as a user who has the rights of a reader
// and no others.
func TestKubectl(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.install(t, "--set", "gpuDevice.kunlunxinDevices=true", "--set", "dataExporter.deploy=true", "--set", "readers[0].kind=ServiceAccount,readers[0].name=reader,readers[0].namespace="+namespace)
	n.account(t, "reader", namespace)
	n.create(t, probePod("four", 4, "pause"))
	n.phase(t, "four", corev1.PodRunning)
	n.create(t, probePod("big", 8, "pause"))
	n.insufficient(t, "big")

	var top struct {
		Total struct {
			GPUs, Free, InUse int
		}
		Pods    int
		Pending []struct{ Name string }
	}
	wait(t, "the GPUs of the cluster", func(ctx context.Context) error {
		out, err := n.metax(ctx, "reader", "top", "-o", "json")
		if err == nil {
			err = json.Unmarshal([]byte(out), &top)
		}
		if err == nil && (top.Total.GPUs != 8 || top.Total.Free != 4 || top.Total.InUse != 4 || top.Pods != 1 || len(top.Pending) != 1) {
			err = fmt.Errorf("it says %s", out)
		}
		return err
	})
	t.Run("what a pod was given", func(t *testing.T) {
		wait(t, "the annotations", func(ctx context.Context) error {
			pod, err := n.pods().Get(ctx, "four", metav1.GetOptions{})
			if err != nil {
				return err
			}
			uuids, indices := strings.Split(pod.Annotations["metax-ctk.io/gpus-given"], ","), pod.Annotations["BAIDU_COM_DEVICE_IDX"]
			if len(uuids) != 4 || indices != "0,1,2,3" && indices != "4,5,6,7" {
				return fmt.Errorf("they are %v", pod.Annotations)
			}
			return nil
		})
	})
	n.must(t, "sh", "-c", "echo 'reason: 36' >$(grep -rl --include=pmdecsrc . "+cluster.NodeDir+"/sys/devices | head -n 1)")
	file := "/root/report.yaml"
	for _, row := range []struct{ line, want string }{
		{"top node", "4/8 gpu"},
		{"top node " + cluster.NodeName, n.gpus[7].UUID},
		{"top node " + cluster.NodeName, " 1500 MHz  "},
		{"top node " + cluster.NodeName, " 1500 MHz (0x24) "},
		{"top node -o json " + cluster.NodeName, `"throttleReasons": 36`},
		{"top pod -A", "four"},
		{"top pod big", "Insufficient metax-tech.com/gpu"},
		{"topology " + cluster.NodeName, "GPU7"},
		{"topology " + cluster.NodeName + " --format tree", "MetaXLink domain 1: GPUs 0-3 (full mesh)"},
		{"topology " + cluster.NodeName + " --format svg", "</svg>"},
		{"why big", "- node-1 has enough GPUs when default/four (4 GPUs) has ended"},
		{"why big", "with 4 GPUs instead of 8, it fits on node-1"},
		{"why four", "running on node-1"},
		{"why four", "(worst link: MX), the best set of its node"},
		{"bugreport " + file, "next: read it"},
		{"top --from " + file, "1 pod with GPUs, 1 pending"},
		{"topology node-1 --from " + file, "GPU7"},
	} {
		t.Run(row.line, func(t *testing.T) {
			wait(t, row.want, func(ctx context.Context) error { // which GPUs a pod was given is known a little later
				out, err := n.metax(ctx, "reader", strings.Fields(row.line)...)
				if err == nil && !strings.Contains(out, row.want) {
					err = fmt.Errorf("it says %s", out)
				}
				return err
			})
		})
	}
	report := n.must(t, "cat", file)
	for _, word := range []string{"metax-device-config", "name: metax-gpu-device", "FailedScheduling", "kubeletVersion: v1."} {
		if !strings.Contains(report, word) {
			t.Errorf("the report does not have %q", word)
		}
	}
	for _, word := range []string{n.gpus[0].UUID, "four", "big", cluster.Registry, "10.10.0.1"} {
		if strings.Contains(report, word) {
			t.Errorf("the report has %q:\n%s", word, report)
		}
	}
	t.Run("without rights", func(t *testing.T) {
		n.account(t, "nobody", "default")
		out, err := n.metax(within(t), "nobody", "top")
		if err == nil || !strings.Contains(err.Error()+out, "value readers of the chart") {
			t.Errorf("%v, %s", err, out)
		}
	})
	t.Run("with the nodes and one namespace", func(t *testing.T) {
		n.must(t, "kubectl", "create", "clusterrole", "see-nodes", "--verb=get,list", "--resource=nodes")
		n.must(t, "kubectl", "create", "clusterrolebinding", "see-nodes", "--clusterrole=see-nodes", "--serviceaccount=default:nobody")
		n.must(t, "kubectl", "create", "rolebinding", "see-pods", "--clusterrole=view", "--serviceaccount=default:nobody", "-n", "default")
		for line, want := range map[string]string{
			"top":             "pods of other namespaces than default are not counted",
			"top pod":         "four",
			"why big":         "with 4 GPUs instead of 8",
			"top node node-1": "the pods of the node are not known",
			"topology node-1": "GPU7",
		} {
			wait(t, line, func(ctx context.Context) error {
				out, err := n.metax(ctx, "nobody", strings.Fields(line)...)
				if err == nil && !strings.Contains(out, want) {
					err = fmt.Errorf("it says %s, want %q", out, want)
				}
				return err
			})
		}
	})
	t.Run("with all pods, but not what they serve", func(t *testing.T) {
		n.must(t, "kubectl", "create", "clusterrolebinding", "see-all-pods", "--clusterrole=view", "--serviceaccount=default:nobody")
		wait(t, "why there are no clocks", func(ctx context.Context) error {
			out, err := n.metax(ctx, "nobody", "top", "node", cluster.NodeName)
			if err == nil && (strings.Contains(out, " MHz") || !strings.Contains(out, "clocks are not shown: you may not get pods/proxy")) {
				err = fmt.Errorf("it says %s", out)
			}
			return err
		})
	})
}

// account makes a service account, and a kubeconfig with its token.
func (n *node) account(t *testing.T, name, namespace string) {
	t.Helper()
	n.must(t, "kubectl", "create", "serviceaccount", name, "-n", namespace)
	n.must(t, "sh", "-c", "kubectl config view --raw --minify > "+kubeconfigOf(name))
	user := strings.TrimSpace(n.must(t, "kubectl", "config", "view", "-o", "jsonpath={.contexts[0].context.user}"))
	token := strings.TrimSpace(n.must(t, "kubectl", "create", "token", name, "-n", namespace))
	n.must(t, "kubectl", "config", "set-credentials", user, "--token="+token, "--kubeconfig="+kubeconfigOf(name))
}

func kubeconfigOf(account string) string { return "/root/" + account + ".conf" }

// metax runs the plugin as kubectl does.
func (n *node) metax(ctx context.Context, account string, args ...string) (string, error) {
	return n.Run(ctx, "kubectl", append([]string{"metax", "--kubeconfig=" + kubeconfigOf(account)}, args...)...)
}
