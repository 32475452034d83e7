// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLooks follows the pods that look at two nodes: one gets a GPU, one waits for it and
// fails.
func TestLooks(t *testing.T) {
	w := &world{Manifests: manifests(t, "imagePullSecrets: [{name: hub}]"), nodes: Nodes{GPU: 3, Ready: map[string]string{"a": "3.4.4", "b": "3.4.4"}}, present: map[string]*appsv1.DaemonSet{}}
	o := object(t, "{}")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var pods []*corev1.Pod
	step := func() Looks {
		rendered, err := w.Render(o.Spec)
		l := DecideLooks(Input{Operator: o, Nodes: w.nodes, Rendered: rendered, Invalid: err}, pods, now)
		for _, pod := range l.Create {
			pod = pod.DeepCopy()
			pod.CreationTimestamp = metav1.NewTime(now)
			pods = append(pods, pod)
		}
		pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return slices.Contains(l.Delete, p.Name) })
		return l
	}
	of := func(node string) *corev1.Pod {
		return pods[slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Annotations[lookNode] == node })]
	}
	if l := step(); len(l.Create) != 2 || l.Shown+len(l.Failed)+len(l.Delete) > 0 {
		t.Fatalf("at first: %+v", l)
	}
	pod := of("a").Spec
	c := pod.Containers[0]
	gpus := c.Resources.Limits["metax-tech.com/gpu"]
	if gpus.Value() != 1 || len(c.SecurityContext.Capabilities.Drop) != 1 || pod.ImagePullSecrets[0].Name != "hub" || pod.PriorityClassName != "metax-gpu-look" || len(pod.Volumes)+len(c.VolumeMounts) > 0 {
		t.Errorf("%+v", pod)
	}
	of("a").Status.Phase = corev1.PodSucceeded
	if l := step(); l.Shown != 1 || len(l.Create)+len(l.Failed)+len(l.Delete) > 0 || l.Again != 0 {
		t.Errorf("one waits: %+v", l)
	}
	of("b").Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "GPU-1\n/dev/mxcd: permission denied\n"}},
	}}}
	of("b").Status.ContainerStatuses[0].State.Terminated.Message += "\x1b[2J\u202e" + strings.Repeat("x", 4096)
	if text := why(of("b")); len(text) > mostWhy || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("a look's message: %q", text)
	}
	of("b").Status.ContainerStatuses[0].State.Terminated.Message = "GPU-1\n/dev/mxcd: permission denied\n"
	now = now.Add(10 * time.Second)
	l := step()
	if len(l.Failed) != 1 || !strings.HasPrefix(l.Failed[0], "b: /dev/mxcd: permission denied (pod metax-gpu-look-") || l.Again != 50*time.Second || len(l.Delete) > 0 {
		t.Errorf("one failed: %+v", l)
	}
	w.run(o)
	in := Input{Operator: o, Nodes: w.nodes, Looks: l, Present: w.present}
	in.Rendered, _ = w.Render(o.Spec)
	if out := validationState(in); out.Status != metav1.ConditionFalse || !strings.Contains(out.Message, "on 1 of 3 nodes with a GPU a container did not get it: b: /dev/mxcd") {
		t.Errorf("%+v", out.Condition)
	}
	in.Looks.Failed = nil
	for _, c := range []struct {
		gpu   int32
		shown int
		want  string
	}{
		{3, 1, "a container got one on 1 node; on 2 nodes all are in use"},
		{3, 3, "a container got one on 3 nodes"},
		{1, 1, "a container got one on 1 node"},
		{1, 0, "on 1 node all are in use"},
	} {
		in.Nodes.GPU, in.Looks.Shown = c.gpu, c.shown
		if out := validationState(in); out.Status != metav1.ConditionTrue || out.Message != "every node with a GPU can give it to a container: "+c.want {
			t.Errorf("%+v", out.Condition)
		}
	}
	now = now.Add(50 * time.Second)
	if l = step(); len(l.Delete) != 1 || len(l.Create) > 0 {
		t.Errorf("a minute later: %+v", l)
	}
	if l = step(); len(l.Create) != 1 || l.Create[0].Annotations[lookNode] != "b" {
		t.Errorf("again: %+v", l)
	}
	w.nodes.Ready = map[string]string{"a": "3.5.0"}
	if l = step(); len(l.Create) != 1 || len(l.Delete) != 2 {
		t.Errorf("another driver, and a node gone: %+v", l)
	}
	for _, spec := range []string{"{paused: true}", "{devicePlugin: {healthyInterval: -5}}"} {
		*o = *object(t, spec)
		rendered, err := w.Render(o.Spec)
		if l := DecideLooks(Input{Operator: o, Nodes: w.nodes, Rendered: rendered, Invalid: err}, pods, now); len(l.Create)+len(l.Delete) > 0 {
			t.Errorf("%s: %+v", spec, l)
		}
	}
	for _, spec := range []string{"{minimalMode: true}", "{devicePlugin: {deploy: false}}"} {
		*o = *object(t, spec)
		rendered, err := w.Render(o.Spec)
		if l := DecideLooks(Input{Operator: o, Nodes: w.nodes, Rendered: rendered, Invalid: err}, pods, now); len(l.Create) > 0 || len(l.Delete) != len(pods) {
			t.Errorf("%s: %+v", spec, l)
		}
	}
}
