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
	Init       int // how many of them are init containers
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

// slots returns, for each container, the numbers of its slices in the scheduler's lists, and
// the slices by number. There are three layouts: a list for each container, the init
// containers first (HAMi); one for each container that is not an init container (older HAMi);
// and one for the pod (Koordinator). In the last two, an init container has the first slices
// of the others, before which it ends.
func (p SlicePod) slots() (byContainer [][]int, all []foreign.Slice, err error) {
	lists := p.Choice.Lists
	for _, list := range lists {
		all = append(all, list...)
	}
	fits := func(containers []allocations.Wanted) bool {
		if len(lists) != len(containers) {
			return false
		}
		for i, c := range containers {
			if len(lists[i]) != c.Count {
				return false
			}
		}
		return true
	}
	sum, most := 0, 0
	for i, c := range p.Containers {
		if i < p.Init {
			most = max(most, c.Count)
		} else {
			sum += c.Count
		}
	}
	shared := true
	switch {
	case fits(p.Containers):
		shared = false
	case fits(p.Containers[p.Init:]) && most <= sum: // a list for each container; init containers use the same
	case len(lists) == 1 && len(all) == max(sum, most): // one list for all
	default:
		return nil, nil,
			fmt.Errorf("the scheduler chose %s, which are not those that the containers request", describe(lists))
	}
	next := 0
	for i, c := range p.Containers {
		from := next
		if shared && i < p.Init {
			from = 0
		} else {
			next += c.Count
		}
		var own []int
		for slot := from; slot < from+c.Count; slot++ {
			own = append(own, slot)
		}
		byContainer = append(byContainer, own)
	}
	return byContainer, all, nil
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
