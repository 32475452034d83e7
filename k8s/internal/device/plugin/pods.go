// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// WatchPods calls see with the requests of a node's pods for the resources, at first when the
// API server has listed them and then whenever they change, until ctx ends. While the API
// server is away nothing is called.
func WatchPods(ctx context.Context, client corev1client.PodsGetter, node string, resources []string, log *slog.Logger,
	see func([]allocate.Request),
) {
	said := map[string]bool{}
	all := client.Pods(metav1.NamespaceAll)
	follow(ctx, client, fields.OneTermEqualSelector("spec.nodeName", node), all.List, all.Watch, &corev1.Pod{}, strip,
		func(pods []*corev1.Pod) {
			see(requests(pods, resources, log, said))
		})
}

// requests returns those of all pods, the oldest pod first. A mistake in the annotations of a
// pod is logged once.
func requests(pods []*corev1.Pod, resources []string, log *slog.Logger, said map[string]bool) []allocate.Request {
	pods = slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	all := []allocate.Request{}
	here := map[string]bool{}
	for _, pod := range pods {
		choice, errs := protocol.ParsePod(pod.Annotations)
		own := allocate.Requests(pod, resources, choice)
		if len(own) == 0 {
			continue
		}
		uid := string(pod.UID)
		here[uid] = true
		if !said[uid] {
			said[uid] = true
			for _, err := range errs {
				log.Warn("an annotation of a pod does not count", "pod", pod.Name, "namespace", pod.Namespace, "reason", err)
			}
		}
		all = append(all, own...)
	}
	maps.DeleteFunc(said, func(uid string, _ bool) bool { return !here[uid] })
	return all
}

// strip keeps of a pod what requests reads, so that a node with many pods costs little memory.
func strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	small := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		CreationTimestamp: pod.CreationTimestamp, Annotations: map[string]string{},
	}}
	for _, key := range []string{
		protocol.HAMiPolicyAnnotation, protocol.PolicyAnnotation, protocol.GPUsAnnotation,
		protocol.MACAAnnotation,
	} {
		if v, ok := pod.Annotations[key]; ok {
			small.Annotations[key] = v
		}
	}
	small.Status.Phase = pod.Status.Phase
	if len(pod.Status.ContainerStatuses)+len(pod.Status.InitContainerStatuses) > 0 {
		small.Status.ContainerStatuses = make([]corev1.ContainerStatus, 1) // there are some
	}
	limits := func(list []corev1.Container) (out []corev1.Container) {
		for _, c := range list {
			out = append(out, corev1.Container{Name: c.Name, Resources: corev1.ResourceRequirements{Limits: c.Resources.Limits}})
		}
		return out
	}
	small.Spec.InitContainers, small.Spec.Containers = limits(pod.Spec.InitContainers), limits(pod.Spec.Containers)
	return small, nil
}
