package objects

import corev1 "k8s.io/api/core/v1"

// HasEnded reports whether no container of a pod runs any more, or will: it has given back what it had.
func HasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Requested returns how much of the extended resource a pod requests, as kube-scheduler counts: what its
// containers and the init containers that keep running request or, if that is more, what one of the
// other init containers needs beside those that keep running before it.
func Requested(pod *corev1.Pod, resource corev1.ResourceName) int {
	most, running := int64(0), int64(0)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			running += requested(c, resource)
			most = max(most, running)
		} else {
			most = max(most, running+requested(c, resource))
		}
	}
	for _, c := range pod.Spec.Containers {
		running += requested(c, resource)
	}
	return int(min(max(most, running), maxRequest))
}

// maxRequest keeps sums of requests small; no node has so many GPUs.
const maxRequest = 1 << 20

func requested(c corev1.Container, resource corev1.ResourceName) int64 {
	q, ok := c.Resources.Requests[resource]
	if !ok {
		q = c.Resources.Limits[resource] // the API server would have filled it in
	}
	return max(0, min(q.Value(), maxRequest))
}
