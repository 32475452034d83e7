// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/metax-ctk/container-toolkit/k8s/internal/operator/plan"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// trimForCache leaves out of the memory what is not read: of a node, everything but the
// labels, the annotations of this project, whether it is cordoned, its taints, whether it is
// ready, and which change of the mode waits. A pod that looks at a GPU stays whole.
func trimForCache(object any) (any, error) {
	switch o := object.(type) {
	case *corev1.Node:
		n := &corev1.Node{ObjectMeta: slimMeta(o.ObjectMeta, protocol.ReportsAnnotation, protocol.UpgradeAnnotation,
			protocol.FaultsAnnotation)}
		n.Labels = o.Labels
		n.Spec.Unschedulable, n.Spec.Taints = o.Spec.Unschedulable, o.Spec.Taints
		for _, c := range o.Status.Conditions {
			switch {
			case c.Type == corev1.NodeReady:
				n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status})
			case c.Type == protocol.ModePendingCondition && c.Status == corev1.ConditionTrue:
				n.Status.Conditions = append(n.Status.Conditions,
					corev1.NodeCondition{Type: c.Type, Status: c.Status, Message: c.Message})
			}
		}
		return n, nil
	case *corev1.Pod:
		if o.Labels["app.kubernetes.io/name"] == protocol.Look {
			o.SetManagedFields(nil)
			return o, nil
		}
		p := &corev1.Pod{ObjectMeta: slimMeta(o.ObjectMeta, plan.RevisionAnnotation, plan.TemplateAnnotation)}
		if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: owner.Kind, Name: owner.Name, Controller: owner.Controller}}
		}
		p.Spec.NodeName, p.Status.Phase = o.Spec.NodeName, o.Status.Phase
		p.Status.ContainerStatuses = waitingContainers(o)
		if usesGPU(o) {
			p.Spec.Containers = []corev1.Container{{
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{protocol.Resource: {}}},
			}}
		}
		return p, nil
	case client.Object:
		o.SetManagedFields(nil)
	}
	return object, nil
}

// waitingContainers are the containers of a pod that cannot start, as without their image.
func waitingContainers(p *corev1.Pod) (list []corev1.ContainerStatus) {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Message != "" {
			list = append(list, corev1.ContainerStatus{Image: c.Image, State: corev1.ContainerState{Waiting: w}})
		}
	}
	return list
}

// slimMeta has what identifies an object, and some annotations.
func slimMeta(m metav1.ObjectMeta, annotations ...string) metav1.ObjectMeta {
	kept := map[string]string{}
	for _, name := range annotations {
		if value, ok := m.Annotations[name]; ok {
			kept[name] = value
		}
	}
	if len(kept) == 0 {
		kept = nil
	}
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		DeletionTimestamp: m.DeletionTimestamp, Annotations: kept,
	}
}

// readFieldsDiffer reports whether what is read of a node or a pod differs.
func readFieldsDiffer(before, after client.Object) bool {
	if !maps.Equal(before.GetLabels(), after.GetLabels()) ||
		!maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil) {
		return true
	}
	switch after := after.(type) {
	case *corev1.Node:
		before, ok := before.(*corev1.Node)
		return !ok || before.Spec.Unschedulable != after.Spec.Unschedulable ||
			isReady(before.Status.Conditions) != isReady(after.Status.Conditions)
	case *corev1.Pod:
		before, ok := before.(*corev1.Pod)
		return !ok || before.Spec.NodeName != after.Spec.NodeName || before.Status.Phase != after.Status.Phase
	}
	return true
}
