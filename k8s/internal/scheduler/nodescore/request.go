package nodescore

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Request is what a pod asks of a node.
type Request struct {
	GPUs   int // of all containers together
	Policy key.Policy
}

// RequestOf returns the request of a pod for the extended resource; its policy is the given one
// unless the pod has one. A mistake in the annotations of the pod is among the errors, and leaves
// the given policy.
func RequestOf(pod *corev1.Pod, resource corev1.ResourceName, policy key.Policy) (Request, []error) {
	choice, errs := protocol.ParsePod(pod.Annotations)
	if choice.Policy != nil {
		policy = *choice.Policy
	}
	return Request{GPUs: GPUsOf(pod, resource), Policy: policy}, errs
}

// GPUsOf returns how much of the extended resource a pod requests, as kube-scheduler counts: what its
// containers and the init containers that keep running request or, if that is more, what one of the
// other init containers needs beside those that keep running before it.
func GPUsOf(pod *corev1.Pod, resource corev1.ResourceName) int {
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

// largestInNUMA is the greatest number of GPUs that the policy MTF keeps within a NUMA node, as
// Kunlunxin's scheduler does with 1, 2 and 4.
const largestInNUMA = 4

// ask returns the request for the picker.
func (r Request) ask(free []int) alloc.Request {
	a := alloc.Request{N: r.GPUs, Free: free, Policy: r.Policy, Sizes: alloc.Off}
	if r.Policy == key.MTF && r.GPUs <= largestInNUMA {
		a.Scope = key.NUMA
	}
	return a
}

// forbidden returns why no node may serve the request; empty if nodes may.
func (r Request) forbidden() string {
	if r.Policy == key.MTF && !slices.Contains([]int{1, 2, 4, 8}, r.GPUs) {
		return fmt.Sprintf("%s requested; the policy mtf allows 1, 2, 4 or 8", wording.Count(r.GPUs, "GPU"))
	}
	return ""
}
