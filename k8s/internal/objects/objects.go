// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Objects are what is known of a cluster at one time.
type Objects struct {
	Nodes []corev1.Node // with GPUs, by name
	// Pods are those that request GPUs, and those of the chart, by namespace and name.
	Pods []corev1.Pod
	// Events are those about such Nodes and pods, in the order in which they happened last.
	Events []corev1.Event
	// Configs are the ConfigMaps that the programs of the chart follow.
	Configs []corev1.ConfigMap
	// Unread are ConfigMaps that have no effect.
	Unread []Unread
	// Asked is what metax-gpu-aware knows of the schedulers that are meant to ask it, by name.
	Asked map[string]protocol.Asked
	// Clocks are those of the GPUs, by index, of the Node that was read alone.
	Clocks map[int]protocol.Clock
	// Missing says in lines what could not be read.
	Missing []string
}

// resources are those of GPUs that a Node can have.
var resources = []corev1.ResourceName{protocol.Resource, protocol.SliceResource}

// HasGPUs reports whether a Node has GPUs, or had some when a program wrote about them.
func HasGPUs(n *corev1.Node) bool {
	for _, r := range resources {
		if _, ok := n.Status.Capacity[r]; ok {
			return true
		}
	}
	return n.Labels[protocol.LabelInstalled] == "true" || n.Annotations[protocol.NodeAnnotation] != ""
}

// IsProgram reports whether a pod is one of the chart's.
func IsProgram(p *corev1.Pod) bool { return p.Labels[partOf] == protocol.Chart }

// IsAware reports whether a pod is a scheduler extender of the chart.
func IsAware(p *corev1.Pod) bool { return IsProgram(p) && p.Labels[nameLabel] == protocol.Aware }

const (
	partOf    = "app.kubernetes.io/part-of"
	nameLabel = "app.kubernetes.io/name"
)

// PolicyArg is how the argument begins that names the policy of a program of the chart.
const PolicyArg = "--policy="

// ParsePolicyArg reads an argument that begins with PolicyArg; false for others.
func ParsePolicyArg(arg string) (key.Policy, bool) {
	text, ok := strings.CutPrefix(arg, PolicyArg)
	policy, err := alloc.ParsePolicy(text)
	return policy, ok && err == nil
}

// configOf returns the name of the ConfigMap that a program of the chart follows.
func configOf(p *corev1.Pod) string {
	if IsAware(p) {
		return protocol.AwareConfigMapName
	}
	return protocol.ConfigMapName
}

// RequestsGPUs reports whether a pod requests GPUs or slices.
func RequestsGPUs(p *corev1.Pod) bool {
	return slices.ContainsFunc(resources, func(r corev1.ResourceName) bool { return Requested(p, r) > 0 })
}

// OfNode returns a Node with its pods and Events.
func (o Objects) OfNode(name string) Objects {
	of := Objects{Missing: o.Missing}
	for _, n := range o.Nodes {
		if n.Name == name {
			of.Nodes = append(of.Nodes, n)
		}
	}
	for _, p := range o.Pods {
		if p.Spec.NodeName == name {
			of.Pods = append(of.Pods, p)
		}
	}
	for _, e := range o.Events {
		if e.InvolvedObject.Kind == "Node" && e.InvolvedObject.Name == name {
			of.Events = append(of.Events, e)
		}
	}
	return of
}
