// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

// SlicePod is a pod that asks for slices.
type SlicePod struct {
	// Containers are all containers, also those that ask for none, with the init containers
	// before the others, as the kubelet serves them.
	Containers []allocations.Wanted
	Init       int    // how many of them are init containers
	once       []bool // by container: it is an init container that ends before the next one starts
	Choice     foreign.SliceChoice
}

// NewSlicePod reads a pod. It fails if the annotations are not valid.
func NewSlicePod(pod *corev1.Pod) (SlicePod, error) {
	p := SlicePod{Init: len(pod.Spec.InitContainers)}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range list {
			p.Containers = append(p.Containers, allocations.Wanted{
				Container: allocations.Container{UID: string(pod.UID), Namespace: pod.Namespace, Pod: pod.Name, Name: c.Name},
				Count:     objects.Count(c.Resources.Limits[protocol.SliceResource]),
			})
			p.once = append(p.once, len(p.once) < p.Init && !objects.IsSidecar(c))
		}
	}
	var err error
	p.Choice, err = foreign.ParseSliceChoice(pod.Annotations)
	return p, err
}

// Next returns the index of the container that the kubelet serves next, -1 if all have been
// served.
func (p SlicePod) Next(state allocations.State) int {
	for i, c := range p.Containers {
		if c.Count > 0 && !state.Has(c.Container) {
			return i
		}
	}
	return -1
}

// MayAsk reports whether the kubelet of a node may be asking for count slices of a pod: it has
// not reported on the pod, and the first container whose slices it does not list requests so
// many. That container can have an answer in the State: a kubelet that was killed meanwhile
// asks again.
func MayAsk(pod *corev1.Pod, node string, count int, state allocations.State, listed []allocations.Listed) bool {
	if pod.Spec.NodeName != node || objects.HasEnded(pod) || isAdmitted(pod) {
		return false
	}
	p, _ := NewSlicePod(pod) // with containers also if the annotations are not valid
	for i, c := range p.Containers {
		hasAnswer := state.Has(c.Container)
		isListed := slices.ContainsFunc(listed, func(l allocations.Listed) bool {
			// an init container is not listed
			return l.Namespace == c.Namespace && l.Pod == c.Pod && (l.Name == c.Name || i < p.Init)
		})
		if c.Count > 0 && !(hasAnswer && isListed) {
			return c.Count == count
		}
	}
	return false
}

// describe is such as "2+0 slices".
func describe(lists [][]foreign.Slice) string {
	if len(lists) == 0 {
		return "no slices"
	}
	text := ""
	for i, list := range lists {
		if i > 0 {
			text += "+"
		}
		text += fmt.Sprint(len(list))
	}
	return text + " slices"
}

// SettleLock decides about the lock of a node. pod is the one that the lock names, nil if it
// does not exist any more. The lock is released when the pod has ended, is gone, runs or has
// all its slices; then phase replaces the pod's bind phase "allocating". It is empty for a pod
// that is gone.
func SettleLock(lock foreign.Lock, node string, pod *corev1.Pod, state allocations.State) (release bool, phase string) {
	switch {
	case lock.Pod == "":
		return false, "" // who holds it cannot be told
	case pod == nil:
		return true, ""
	case objects.HasEnded(pod):
		return true, foreign.PhaseFailed
	case pod.Spec.NodeName == "":
		return false, "" // the scheduler is about to bind it
	case pod.Spec.NodeName != node:
		return true, ""
	case isAdmitted(pod):
		return true, foreign.PhaseSuccess
	}
	p, err := NewSlicePod(pod)
	asks := false
	for _, c := range p.Containers {
		asks = asks || c.Count > 0
	}
	if err == nil && asks && p.Next(state) < 0 {
		return true, foreign.PhaseSuccess
	}
	return false, ""
}
