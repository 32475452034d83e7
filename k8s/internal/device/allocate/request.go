// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Request is a container that asks for devices, with what its pod says about them.
type Request struct {
	allocations.Wanted
	Choice   protocol.PodChoice
	Resource string // of which the devices are
}

// Requests returns the containers of a pod that ask for devices of one of the resources, in
// the order in which the kubelet serves them; none of a pod that has ended.
func Requests(pod *corev1.Pod, resources []string, choice protocol.PodChoice) (all []Request) {
	if objects.HasEnded(pod) {
		return nil
	}
	admitted := isAdmitted(pod)
	add := func(containers []corev1.Container) {
		for _, c := range containers {
			for _, resource := range resources {
				if n := objects.Count(c.Resources.Limits[corev1.ResourceName(resource)]); n > 0 {
					all = append(all, Request{allocations.Wanted{
						Container: allocations.Container{UID: string(pod.UID), Namespace: pod.Namespace, Pod: pod.Name, Name: c.Name},
						Count:     n, Admitted: admitted,
					}, choice, resource})
				}
			}
		}
	}
	add(pod.Spec.InitContainers)
	add(pod.Spec.Containers)
	return all
}

// isAdmitted reports whether the kubelet has reported on a pod, so that its containers have
// their devices.
func isAdmitted(pod *corev1.Pod) bool {
	s := pod.Status
	return s.Phase == corev1.PodRunning || len(s.ContainerStatuses)+len(s.InitContainerStatuses) > 0
}

// Waiting are containers that have no GPUs yet. Those that ask for slices are not among them:
// which one of these is served, the node's lock says. The zero value knows none.
type Waiting struct {
	requests []Request // the first of each pod: the kubelet serves a pod's containers in turn
	unnamed  int       // one that asks for at least so many may have them already; 0 for none
}

// NewWaiting returns those of the requests, in the order of Requests and pod by pod, that have
// no devices yet by the State and what the kubelet lists.
func NewWaiting(requests []Request, state allocations.State, listed []allocations.Listed) Waiting {
	pods := make([]allocations.Wanted, len(requests))
	for i, r := range requests {
		pods[i] = r.Wanted
	}
	left, unnamed := state.Waiting(listed, pods)
	waits := func(r Request) bool {
		return slices.ContainsFunc(left, func(w allocations.Wanted) bool { return w.Container == r.Container })
	}
	w := Waiting{unnamed: unnamed}
	seen := map[string]bool{}
	for _, r := range requests {
		if !r.Admitted && !seen[r.UID] && r.Resource != protocol.SliceResource && waits(r) {
			seen[r.UID] = true
			w.requests = append(w.requests, r)
		}
	}
	return w
}

// Guess returns the container for which the kubelet asks for n devices, if exactly one that
// waits asks for so many.
func (w Waiting) Guess(n int) (found Request, ok bool) {
	for _, r := range w.requests {
		if r.Count != n {
			continue
		}
		if ok {
			return Request{}, false
		}
		found, ok = r, true
	}
	if w.unnamed > 0 && w.unnamed <= n {
		return Request{}, false
	}
	return found, ok
}
