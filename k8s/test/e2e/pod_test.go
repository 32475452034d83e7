// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/test/cluster"
	"github.com/metax-ctk/container-toolkit/test/report"
)

const (
	probeImage = cluster.Registry + "/test/probe:1"
	// reports is the directory of the node with a folder for the report of each pod.
	reports = "/var/lib/reports"
)

// probePod is a pod with one container that runs the probe with GPUs.
func probePod(name string, gpus int, probe ...string) *corev1.Pod {
	var limits corev1.ResourceList
	if gpus > 0 {
		limits = corev1.ResourceList{gpuResource: *resource.NewQuantity(int64(gpus), resource.DecimalSI)}
	}
	at := corev1.HostPathDirectoryOrCreate
	grace := int64(1) // with 0, a pod leaves the API before its GPUs are free
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "main", Image: probeImage, Command: append([]string{"/probe"}, probe...),
				Resources:    corev1.ResourceRequirements{Limits: limits},
				VolumeMounts: []corev1.VolumeMount{{Name: "report", MountPath: report.Dir}},
			}},
			Volumes: []corev1.Volume{{Name: "report", VolumeSource: corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: path.Join(reports, name), Type: &at},
			}}},
		},
	}
}

// create creates a pod.
func (n *node) create(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if _, err := n.pods().Create(within(t), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// phase waits until the pod is in the phase, and fails if it ends in another.
func (n *node) phase(t *testing.T, name string, want corev1.PodPhase) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	wait(t, "pod "+name, func(ctx context.Context) (err error) {
		if pod, err = n.pods().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		if pod.Status.Phase != want {
			return fmt.Errorf("it is %s, not %s: %s", pod.Status.Phase, want, state(pod))
		}
		return nil
	})
	return pod
}

// runs creates a pod and waits until it runs. A pod that the kubelet refuses is created again,
// as a controller does: a kubelet that has just started knows no GPUs, and the scheduler does
// not know that yet.
func (n *node) runs(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	n.create(t, pod)
	wait(t, "pod "+pod.Name, func(ctx context.Context) error {
		now, err := n.pods().Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || now.Status.Phase == corev1.PodRunning {
			return err
		}
		err = fmt.Errorf("it is %s: %s", now.Status.Phase, state(now))
		if isRefused(now) {
			t.Log("pod ", pod.Name, ": ", err)
			n.remove(t, pod.Name)
			n.create(t, pod)
		}
		return err
	})
}

// mustRefuse are what the error of a plugin says that a pod must not get its GPUs: the plugin,
// or the program that makes slices, was away, the kubelet took the next registration of the
// plugin in this moment, a GPU had become unhealthy, or somebody else had leased one a moment
// before.
var mustRefuse = []string{"code = Unavailable", "the client connection is closing", " is unhealthy: ", `make the slices: Post "http://reader`, "is in use by lease", "is in use by container"}

// isRefused reports whether the kubelet had to refuse a pod: it knows no GPUs, or by
// mustRefuse.
func isRefused(pod *corev1.Pod) bool {
	switch message := pod.Status.Message; pod.Status.Reason {
	case "OutOf" + gpuResource, "OutOf" + sliceResource:
		return true
	case "UnexpectedAdmissionError":
		return !strings.Contains(message, "rpc error") || slices.ContainsFunc(mustRefuse, func(s string) bool { return strings.Contains(message, s) })
	}
	return false
}

// isCut reports whether the kubelet was killed while it started a container of a pod: the
// engine gives up then, and nobody starts the container of such a pod again.
func isCut(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		end := c.State.Terminated
		return end != nil && end.Reason == "StartError" && strings.HasSuffix(end.Message, "context canceled")
	})
}

// state is why a pod is where it is.
func state(pod *corev1.Pod) string {
	list := []string{pod.Status.Reason, pod.Status.Message}
	for _, c := range pod.Status.Conditions {
		if c.Status == corev1.ConditionFalse {
			list = append(list, c.Message)
		}
	}
	for _, c := range append(slices.Clone(pod.Status.InitContainerStatuses), pod.Status.ContainerStatuses...) {
		if c.State.Waiting != nil {
			list = append(list, c.Name+": "+c.State.Waiting.Reason+" "+c.State.Waiting.Message)
		}
		if c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
			list = append(list, fmt.Sprintf("%s: exit code %d %s", c.Name, c.State.Terminated.ExitCode, c.State.Terminated.Message))
		}
	}
	return strings.Join(slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" }), "; ")
}

// remove deletes a pod and waits until it is gone.
func (n *node) remove(t *testing.T, name string) {
	t.Helper()
	if err := n.pods().Delete(within(t), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the end of pod "+name, func(ctx context.Context) error {
		pod, err := n.pods().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it is still %s", pod.Status.Phase)
		}
		return err
	})
}

// look runs a pod with GPUs to its end and returns what it saw.
func (n *node) look(t *testing.T, name string, gpus int) report.Report {
	t.Helper()
	n.create(t, probePod(name, gpus, append([]string{"look"}, n.numbers(t)...)...))
	n.phase(t, name, corev1.PodSucceeded)
	return n.report(t, name)
}

// report reads the report of a pod that has looked.
func (n *node) report(t *testing.T, name string) report.Report {
	t.Helper()
	text, err := os.ReadFile(n.Path(path.Join(reports, name, report.Look)))
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("read the report of pod %s: %v", name, err)
	}
	return r
}

// seen are the indices of the GPUs whose nodes are all in a report, after it was checked that
// no other node is there, that each can be opened, and that the device cgroup denies the nodes
// of every other GPU even to a process that makes them itself.
func (n *node) seen(t *testing.T, r report.Report) []int {
	t.Helper()
	inside := map[string]bool{}
	for _, node := range r.Nodes {
		if strings.HasPrefix(node.Path, "/dev/dri/") || strings.HasPrefix(node.Path, "/dev/mx") {
			inside[node.Path] = true
			if err := node.Verdict(); err != nil {
				t.Errorf("%s of the container cannot be used: %v", node.Path, err)
			}
		}
	}
	var list []int
	made := r.Made
	for i, g := range n.gpus {
		count := 0
		for _, path := range g.Nodes {
			if inside[path] {
				count++
			}
			delete(inside, path)
		}
		if count == len(g.Nodes) {
			list = append(list, i)
		} else if count > 0 {
			t.Errorf("the container has %d of %d nodes of GPU %d", count, len(g.Nodes), i)
		}
		for _, node := range made[:len(g.Nodes)] {
			if allowed := node.Open != "EPERM"; node.Mknod != "" || allowed != (count > 0) {
				t.Errorf("GPU %d, of which the container has %d nodes: making %d:%d gives %q, opening it %q",
					i, count, node.Major, node.Minor, node.Mknod, node.Open)
			}
		}
		made = made[len(g.Nodes):]
	}
	if len(list) > 0 && !inside["/dev/mxcd"] {
		t.Error("the container has GPUs, but not /dev/mxcd")
	}
	delete(inside, "/dev/mxcd")
	for path := range inside {
		t.Errorf("the container has %s, which belongs to no GPU", path)
	}
	return list
}

func (n *node) pods() corev1client.PodInterface {
	return n.Client.CoreV1().Pods(metav1.NamespaceDefault)
}
