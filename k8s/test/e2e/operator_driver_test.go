// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
)

const (
	driverPods = "app.kubernetes.io/name=metax-driver"
	oldDriver  = "3.7.0" // the registry has images with these
	newDriver  = "3.8.0"
)

// driverValues are the values for a driver from an image.
func driverValues(policy, version string) []string {
	return []string{"--set", "driver.deployPolicy=" + policy, "--set", "driver.payload.version=" + version, "--set", "driver.payload.registry=" + cluster.Registry + "/test"}
}

// withoutDriver makes the node one whose host has no driver.
func (n *node) withoutDriver(t *testing.T) {
	t.Helper()
	root := n.Path(cluster.NodeDir)
	n.unload(t)
	lists, err := filepath.Glob(root + "/lib/modules/*/modules.dep")
	if err != nil || len(lists) != 1 {
		t.Fatal(lists, err)
	}
	if err := os.WriteFile(lists[0], []byte("kernel/drivers/gpu/drm/drm.ko:\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(root + "/opt/mxdriver"); err != nil {
		t.Fatal(err)
	}
}

// unload unloads the driver of the node.
func (n *node) unload(t *testing.T) {
	t.Helper()
	with, without, err := sim.DriverTrees("c500-8", "0")
	if err != nil {
		t.Fatal(err)
	}
	root := n.Path(cluster.NodeDir)
	if err := errors.Join(with.Remove(root), without.Add(root)); err != nil {
		t.Fatal(err)
	}
}

// driver waits until the kernel of the node has a driver of a version, and its files are
// there.
func (n *node) driver(t *testing.T, version string) {
	t.Helper()
	wait(t, "driver "+version, func(context.Context) error {
		text, err := os.ReadFile(n.Path(cluster.NodeDir + "/sys/module/metax/version"))
		if got := strings.TrimSpace(string(text)); err == nil && got != version {
			err = fmt.Errorf("it is %s", got)
		}
		return err
	})
	if text, err := os.ReadFile(n.Path(smiFacts)); err != nil || !strings.Contains(string(text), version) {
		t.Errorf("/opt/mxdriver is not that of driver %s: %v", version, err)
	}
}

// labels waits until the node has these labels below metax-tech.com/, as NAME=VALUE.
func (n *node) labels(t *testing.T, want ...string) {
	t.Helper()
	wait(t, "labels", func(context.Context) error {
		labels := n.object(t).Labels
		for _, label := range want {
			name, value, _ := strings.Cut(label, "=")
			if got := labels["metax-tech.com/"+name]; got != value {
				return fmt.Errorf("label %s is %q, want %q", name, got, value)
			}
		}
		return nil
	})
}

// driverSays waits until the condition of the driver says something.
func (n *node) driverSays(t *testing.T, want string) {
	t.Helper()
	wait(t, "the condition of the driver", func(context.Context) error {
		got := n.must(t, "kubectl", "get", "clusteroperators", "cluster-operator", "-o", `jsonpath={.status.conditions[?(@.type=="DriverReady")].message}`)
		if !strings.Contains(got, want) {
			return fmt.Errorf("it says %q, want %q", got, want)
		}
		return nil
	})
}

// agents are the driver's agents. None may have been restarted.
func (n *node) agents(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := n.Client.CoreV1().Pods(namespace).List(within(t), metav1.ListOptions{LabelSelector: driverPods})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		for _, c := range pod.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				t.Errorf("%s was restarted %d times: %+v", pod.Name, c.RestartCount, c.LastTerminationState)
			}
		}
	}
	return list.Items
}

// TestOperatorDriver installs the operator on a node without a driver, which then runs the pod
// of the manual, and upgrades the driver: a pod that has a GPU is named and not ended, unless
// a roll-out may evict it.
func TestOperatorDriver(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	n.withoutDriver(t)
	release := n.beginOperator(t, driverValues("PreferCloud", oldDriver)...)
	n.driver(t, oldDriver)
	n.allocatable(t, len(n.gpus))
	n.condition(t, "DriverReady=True Deployed")
	n.condition(t, "Ready=True Deployed")
	n.labels(t, "driver.ready=true", "gpu.driver.mode=cloud", "driver.host=false", "gpu.driver.minor=7")
	t.Run("pod of the manual", func(t *testing.T) {
		n.create(t, example(t, "manual.yaml", "manual", "look"))
		n.phase(t, "manual", corev1.PodSucceeded)
		if r := n.report(t, "manual"); len(r.Driver) == 0 {
			t.Error("/opt/mxdriver/bin of the container is empty")
		}
		n.remove(t, "manual")
	})
	t.Run("upgrade", func(t *testing.T) {
		n.runs(t, probePod("holds", 1, "wait"))
		n.patch(t, `{"driver": {"payload": {"version": "`+newDriver+`"}}}`)
		wait(t, "the new payload", func(ctx context.Context) error {
			set, err := n.Client.AppsV1().DaemonSets(namespace).Get(ctx, "metax-driver", metav1.GetOptions{})
			if err == nil && !strings.HasSuffix(set.Spec.Template.Spec.InitContainers[1].Image, ":"+newDriver) {
				err = fmt.Errorf("it is %s", set.Spec.Template.Spec.InitContainers[1].Image)
			}
			return err
		})
		n.driver(t, oldDriver)
		// As the roll-out does, when the node may upgrade.
		n.must(t, "kubectl", "-n", namespace, "delete", "pod", "-l", driverPods)
		n.driverSays(t, "waits for pod default/holds")
		n.condition(t, "DriverReady=False Incomplete")
		n.labels(t, "driver.ready=false", "driver.reason=InUse")
		n.allocatable(t, 0)
		n.phase(t, "holds", corev1.PodRunning)
		n.driver(t, oldDriver)
		n.remove(t, "holds")
		n.driver(t, newDriver)
		n.condition(t, "Ready=True Deployed")
		n.allocatable(t, len(n.gpus))
		n.look(t, "after", 2)
		n.remove(t, "after")
		n.agents(t)
	})
	t.Run("driver gone", func(t *testing.T) {
		n.unload(t)
		n.driver(t, newDriver)
	})
	t.Run("another kernel", func(t *testing.T) {
		// As after an update of the node's distribution.
		release := n.Path(cluster.NodeDir + "/proc/sys/kernel/osrelease")
		before, err := os.ReadFile(release)
		if err != nil {
			t.Fatal(err)
		}
		boot := func(kernel string) {
			if err := os.WriteFile(release, []byte(kernel), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		boot("9.9.9-new\n")
		n.unload(t)
		n.driverSays(t, "the payload has no module for kernel 9.9.9-new, but for "+strings.TrimSpace(string(before)))
		n.labels(t, "driver.ready=false", "driver.reason=NoModule")
		n.condition(t, "DriverReady=False Incomplete")
		boot(string(before))
		n.driver(t, newDriver)
		n.condition(t, "Ready=True Deployed")
	})
	t.Run("roll-out", func(t *testing.T) {
		n.runs(t, probePod("job", 1, "pause"))
		n.patch(t, `{"driver": {"payload": {"version": "`+oldDriver+`"}, "upgradePolicy": {"enableRollout": true, "maxUnavailable": 1, "podDeletion": {"enable": true, "force": true}}}}`)
		n.driver(t, oldDriver)
		n.condition(t, "DriverUpgrade=True Upgraded")
		n.condition(t, "Ready=True Deployed")
		if _, err := n.pods().Get(within(t), "job", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the pod was not evicted: %v", err)
		}
		if n.object(t).Spec.Unschedulable {
			t.Error("the node is still cordoned")
		}
		n.allocatable(t, len(n.gpus))
	})
	n.uninstall(t, release)
	n.driver(t, oldDriver) // pods that run keep their GPUs
}

// TestOperatorHostDriver installs the operator on a node with a driver: preferred, no image of
// a driver is pulled; otherwise the driver is replaced, when no pod uses it any more.
func TestOperatorHostDriver(t *testing.T) {
	t.Parallel()
	n := newNode(t, "c500-8")
	release := n.installOperator(t, driverValues("PreferHost", "nowhere")...)
	n.condition(t, "Ready=True Deployed")
	n.labels(t, "driver.ready=true", "gpu.driver.mode=native", "driver.host=true")
	if pods := n.agents(t); len(pods) > 0 {
		t.Errorf("%s runs where the host has a driver", pods[0].Name)
	}
	for _, image := range n.object(t).Status.Images {
		if strings.Contains(strings.Join(image.Names, " "), "driver-image") {
			t.Errorf("an image of a driver was pulled: %q", image.Names)
		}
	}
	n.runs(t, probePod("holds", 1, "wait"))
	n.patch(t, `{"driver": {"deployPolicy": "PreferCloud", "payload": {"version": "`+oldDriver+`"}}}`)
	n.driverSays(t, "waits for pod default/holds")
	n.condition(t, "DriverReady=False Incomplete")
	n.agents(t)
	n.driver(t, "3.4.4")
	n.remove(t, "holds")
	n.driver(t, oldDriver)
	n.condition(t, "Ready=True Deployed")
	n.labels(t, "driver.ready=true", "gpu.driver.mode=cloud", "driver.host=false")
	n.allocatable(t, len(n.gpus))
	n.look(t, "after", 1)
	n.agents(t)
	n.uninstall(t, release)
}
