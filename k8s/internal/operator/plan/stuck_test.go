// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestStuck has pods without their image: the condition of the component names image, node and
// the kubelet's words.
func TestStuck(t *testing.T) {
	const words = `Back-off pulling image "r/maca-c500:9": not found`
	pod := func(kind, owner, node, reason, message string) corev1.Pod {
		yes := true
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &yes}}},
			Spec:       corev1.PodSpec{NodeName: node},
			Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Image: "r/maca-c500:9", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}},
		}
	}
	stuck := Stuck([]corev1.Pod{
		pod("DaemonSet", protocol.Device, "b", "ErrImagePull", "evil\x1b[2J\n"), pod("DaemonSet", protocol.Device, "a", "ImagePullBackOff", words),
		pod("DaemonSet", protocol.Device, "c", "ContainerCreating", ""), pod("DaemonSet", "other", "a", "ErrImagePull", "x"), pod("ReplicaSet", protocol.Device, "a", "ErrImagePull", "x"),
	})
	w := &world{Manifests: manifests(t, ""), nodes: Nodes{GPU: 2}, present: map[string]*appsv1.DaemonSet{}}
	o := object(t, "{}")
	w.run(o)
	w.present[protocol.Device].Status.NumberReady = 1
	rendered, err := w.Render(o.Spec)
	if err != nil {
		t.Fatal(err)
	}
	p := Decide(Input{Operator: o, Nodes: w.nodes, Rendered: rendered, Present: w.present, Stuck: stuck})
	got := message(p.Status, "DevicePluginReady")
	want := "; r/maca-c500:9 on a: ImagePullBackOff: " + words + ", r/maca-c500:9 on b: ErrImagePull: evil"
	if !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\n") || len(stuck) != 1 {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := message(p.Status, "LabelgenReady"); strings.Contains(got, "maca-c500") {
		t.Errorf("another component: %s", got)
	}
}
