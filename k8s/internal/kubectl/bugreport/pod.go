// SPDX-License-Identifier: Apache-2.0

package bugreport

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// podLabels are what the chart's programs are found by.
var podLabels = []string{"app.kubernetes.io/part-of", "app.kubernetes.io/name"}

func (s scrubber) scrubPod(p *corev1.Pod) *corev1.Pod {
	program := objects.IsProgram(p)
	out := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: s.Word(podName, p.Name), Namespace: s.scrubNamespace(p.Namespace), CreationTimestamp: p.CreationTimestamp,
			DeletionTimestamp: p.DeletionTimestamp,
			Annotations: s.scrubAnnotations(p.Annotations, protocol.PolicyAnnotation, protocol.GPUsAnnotation,
				protocol.GivenAnnotation, protocol.MACAAnnotation, protocol.HAMiPolicyAnnotation),
		},
		Spec: corev1.PodSpec{
			SchedulerName: p.Spec.SchedulerName, NodeSelector: s.scrubNodeSelector(p.Spec.NodeSelector),
			InitContainers: s.containers(p.Spec.InitContainers, program), Containers: s.containers(p.Spec.Containers, program),
		},
	}
	if p.Spec.NodeName != "" {
		out.Spec.NodeName = s.Word(nodeName, p.Spec.NodeName)
	}
	if program {
		out.Labels = selectKeys(p.Labels, podLabels...)
	}
	out.Status = corev1.PodStatus{
		Phase: p.Status.Phase, Reason: s.Text(p.Status.Reason),
		Message: s.Text(p.Status.Message),
	}
	for _, c := range p.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, corev1.PodCondition{
			Type: c.Type, Status: c.Status, Reason: s.Text(c.Reason), Message: s.Text(c.Message),
			LastTransitionTime: c.LastTransitionTime,
		})
	}
	return out
}

func (s scrubber) containers(list []corev1.Container, program bool) (kept []corev1.Container) {
	for _, c := range list {
		k := corev1.Container{
			RestartPolicy: c.RestartPolicy,
			Resources: corev1.ResourceRequirements{
				Limits:   schedulingResources(c.Resources.Limits),
				Requests: schedulingResources(c.Resources.Requests),
			},
		}
		if program {
			for _, arg := range c.Args {
				if policy, ok := objects.ParsePolicyArg(arg); ok {
					k.Args = append(k.Args, objects.PolicyArg+policy.String())
				}
			}
		}
		kept = append(kept, k)
	}
	return kept
}

// scrubEvent returns an Event. Its own name has that of the object in it, so it gets a number.
func (s scrubber) scrubEvent(e *corev1.Event, i int) *corev1.Event {
	out := &corev1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("event-%d", i+1), Namespace: s.scrubNamespace(e.Namespace)},
		InvolvedObject: corev1.ObjectReference{
			Kind:      e.InvolvedObject.Kind,
			Namespace: s.scrubNamespace(e.InvolvedObject.Namespace),
		},
		Reason: s.Text(e.Reason), Message: s.Text(e.Message), Type: e.Type, Count: e.Count,
		LastTimestamp: metav1.NewTime(objects.LastTime(*e).UTC()),
	}
	switch name := e.InvolvedObject.Name; e.InvolvedObject.Kind {
	case "Node":
		out.InvolvedObject.Name = s.Word(nodeName, name)
	case "Pod":
		out.InvolvedObject.Name = s.Word(podName, name)
	}
	return out
}
