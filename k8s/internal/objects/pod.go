// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// HasEnded reports whether no container of a pod runs any more, or will: it has given back
// what it had.
func HasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// IsSidecar reports whether an init container keeps running beside the containers after it.
func IsSidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Requested returns how much of the extended resource of a name a pod requests, as
// kube-scheduler counts: what its containers and the init containers that keep running request
// or, if that is more, what one of the other init containers needs beside those that keep
// running before it.
func Requested(pod *corev1.Pod, name corev1.ResourceName) int {
	most, running := int64(0), int64(0)
	for _, c := range pod.Spec.InitContainers {
		if IsSidecar(c) {
			running += requested(c, name)
			most = max(most, running)
		} else {
			most = max(most, running+requested(c, name))
		}
	}
	for _, c := range pod.Spec.Containers {
		running += requested(c, name)
	}
	return int(min(max(most, running), maxRequest))
}

// maxRequest keeps sums of requests small; no node has so many GPUs.
const maxRequest = 1 << 20

// Count returns how many devices a quantity is: at least 0, and at most so many that sums do
// not overflow.
func Count(q resource.Quantity) int { return int(max(0, min(q.Value(), maxRequest))) }

func requested(c corev1.Container, name corev1.ResourceName) int64 {
	q, ok := c.Resources.Requests[name]
	if !ok {
		q = c.Resources.Limits[name] // the API server would have filled it in
	}
	return int64(Count(q))
}
