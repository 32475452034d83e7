// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/sandbox"
)

const (
	namespace = "metax-gpu-extensions"
	project   = cluster.Registry + "/metax-ctk"
)

// values are what the simulated node needs: its GPUs are not below / of the node.
var values = []string{"--set", "registry=" + project, "--set", "hostRoot=" + cluster.NodeDir}

// push puts the chart of the source tree into the registry.
func (n *node) push(t *testing.T) {
	t.Helper()
	n.must(t, "sh", "-c", "for chart in "+sandbox.BinDir+"/charts/*.tgz; do helm push --plain-http $chart oci://"+project+"; done")
}

// install installs the chart with the command of the manual, waits until pods can get all
// GPUs, and returns the name that helm made up.
func (n *node) install(t *testing.T, more ...string) string {
	t.Helper()
	n.push(t)
	n.must(t, "helm", append(append([]string{
		"install", "oci://" + project + "/metax-gpu-extensions", "--version", "<999",
		"-n", namespace, "--create-namespace", "--generate-name", "--wait",
	}, values...), more...)...)
	n.allocatable(t, len(n.gpus))
	release := n.release(t)
	n.allowRights(t, release)
	return release
}

// release is the name of the only release.
func (n *node) release(t *testing.T) string {
	t.Helper()
	var list []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(n.must(t, "helm", "list", "-n", namespace, "-o", "json")), &list); err != nil {
		t.Fatalf("read the list of releases: %v", err)
	}
	if len(list) != 1 || list[0].Status != "deployed" {
		t.Fatalf("the releases are %v, want one that is deployed", list)
	}
	return list[0].Name
}

// uninstall removes the chart with the command of the manual, and waits until its pods are
// gone.
func (n *node) uninstall(t *testing.T, release string) {
	t.Helper()
	n.useRights(t, false)
	n.must(t, "helm", "uninstall", release, "-n", namespace, "--wait")
	wait(t, "the end of the chart's pods", func(ctx context.Context) error {
		list, err := n.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%s is still there", list.Items[0].Name)
		}
		return err
	})
	n.useRights(t, true)
}

// object is the node's object.
func (n *node) object(t *testing.T) *corev1.Node {
	t.Helper()
	object, err := n.Client.CoreV1().Nodes().Get(within(t), cluster.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// agent returns the pod of a DaemonSet of the chart, once it is ready.
func (n *node) agent(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	wait(t, "the pod of "+name, func(ctx context.Context) error {
		list, err := n.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("it has %d pods, want 1", len(list.Items))
		}
		pod = &list.Items[0]
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("it is not ready: %s", state(pod))
	})
	return pod
}

// sockets are the sockets of device plugins in the kubelet's directory.
func (n *node) sockets(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, name := range strings.Fields(n.must(t, "ls", pluginDir)) {
		if strings.HasSuffix(name, ".sock") && name != "kubelet.sock" {
			list = append(list, path.Join(pluginDir, name))
		}
	}
	return list
}

const pluginDir = "/var/lib/kubelet/device-plugins"
