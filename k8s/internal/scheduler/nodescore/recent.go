// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Recent are the pods that were placed on a node a moment ago and that its state does not
// count yet, in the order in which they were placed. It is a value: its methods return another
// one.
type Recent []recentPod

type recentPod struct {
	uid     string
	request Request // its GPUs are those that the state does not count yet
	until   time.Time
}

// Patience is how long a pod is remembered whose GPUs the node's state never counts. The
// plugin writes a state a second after the kubelet has asked for the GPUs, which it does once
// it has seen the pod.
const Patience = 30 * time.Second

// Place remembers a pod with its request.
func (p Recent) Place(uid string, r Request, now time.Time) Recent {
	if r.GPUs < 1 || slices.ContainsFunc(p, func(o recentPod) bool { return o.uid == uid }) {
		return p
	}
	return append(slices.Clip(p), recentPod{uid, r, now.Add(Patience)})
}

// Without forgets a pod that has ended.
func (p Recent) Without(uid string) Recent {
	return p.delete(func(o recentPod) bool { return o.uid == uid })
}

// At forgets the pods that are remembered too long.
func (p Recent) At(now time.Time) Recent {
	return p.delete(func(o recentPod) bool { return now.After(o.until) })
}

// Count forgets the pods that a newer state of the node counts. The GPUs that were free and
// are now in use by pods go to the pods in the order in which they were placed. Which pod has
// which GPU the state does not say, so the sum is right, and not always the single pod.
func (p Recent) Count(before, after protocol.NodeState) Recent {
	if len(p) == 0 || before.Generation == after.Generation || before.GPUs != after.GPUs {
		return p
	}
	was, other := setOf(before.Free), setOf(slices.Concat(after.Free, after.Unhealthy, after.Outside))
	for i := range was {
		was[i] &^= other[i]
	}
	credit := was.len()
	counted := slices.Clone(p)
	for i := range counted {
		n := min(credit, counted[i].request.GPUs)
		counted[i].request.GPUs -= n
		credit -= n
	}
	return counted.delete(func(o recentPod) bool { return o.request.GPUs == 0 })
}

// GPUs returns how many GPUs the pods request that the state does not count.
func (p Recent) GPUs() (sum int) {
	for _, o := range p {
		sum += o.request.GPUs
	}
	return sum
}

func (p Recent) delete(which func(recentPod) bool) Recent {
	if !slices.ContainsFunc(p, which) {
		return p
	}
	return slices.DeleteFunc(slices.Clone(p), which)
}
