// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Request is what a pod asks of a node.
type Request struct {
	GPUs   int // of all containers together
	Policy key.Policy
}

// RequestOf returns the request of a pod for the extended resource; its policy is the given
// one unless the pod has one. A mistake in the annotations of the pod is among the errors, and
// leaves the given policy.
func RequestOf(pod *corev1.Pod, resource corev1.ResourceName, policy key.Policy) (Request, []error) {
	choice, errs := protocol.ParsePod(pod.Annotations)
	if choice.Policy != nil {
		policy = *choice.Policy
	}
	return Request{GPUs: objects.Requested(pod, resource), Policy: policy}, errs
}

// largestInNUMA is the greatest number of GPUs that the policy MTF keeps within a NUMA node,
// as Kunlunxin's scheduler does with 1, 2 and 4.
const largestInNUMA = 4

// pickerRequest returns the request for the picker.
func (r Request) pickerRequest(free []int) alloc.Request {
	a := alloc.Request{N: r.GPUs, Free: free, Policy: r.Policy, Sizes: alloc.Off}
	if r.Policy == key.MTF && r.GPUs <= largestInNUMA {
		a.Scope = key.NUMA
	}
	return a
}

// forbiddenReason returns why no node may serve the request; empty if nodes may.
func (r Request) forbiddenReason() string {
	if r.Policy == key.MTF && !slices.Contains([]int{1, 2, 4, 8}, r.GPUs) {
		return fmt.Sprintf("%s requested; the policy mtf allows 1, 2, 4 or 8", wording.Count(r.GPUs, "GPU"))
	}
	return ""
}
