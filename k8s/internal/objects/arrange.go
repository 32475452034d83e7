// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// configNames are the names of the ConfigMaps that the programs of the chart follow.
var configNames = []string{
	protocol.ConfigMapName, protocol.ValuesOf(protocol.ConfigMapName), protocol.AwareConfigMapName,
	protocol.ValuesOf(protocol.AwareConfigMapName),
}

// filterAndSort leaves out what has nothing to do with GPUs, and sorts the rest.
func (o *Objects) filterAndSort() {
	o.Nodes = slices.DeleteFunc(o.Nodes, func(n corev1.Node) bool { return !HasGPUs(&n) })
	o.Pods = slices.DeleteFunc(o.Pods, func(p corev1.Pod) bool { return !RequestsGPUs(&p) && !IsProgram(&p) })
	o.Configs = slices.DeleteFunc(o.Configs, func(c corev1.ConfigMap) bool {
		return !slices.Contains(configNames, c.Name)
	})
	known := map[corev1.ObjectReference]bool{}
	for _, n := range o.Nodes {
		known[corev1.ObjectReference{Kind: "Node", Name: n.Name}] = true
	}
	for _, p := range o.Pods {
		known[corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}] = true
	}
	o.Events = slices.DeleteFunc(o.Events, func(e corev1.Event) bool {
		i := e.InvolvedObject
		return !known[corev1.ObjectReference{Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}]
	})
	slices.SortFunc(o.Nodes, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(o.Pods, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(o.Events, func(a, b corev1.Event) int {
		return cmp.Or(LastTime(a).Compare(LastTime(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(o.Configs, func(a, b corev1.ConfigMap) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// LastTime returns when an Event happened last, by those of its fields that its writer has
// set.
func LastTime(e corev1.Event) time.Time {
	last := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	if last.IsZero() {
		last = e.EventTime.Time
	}
	return last
}
