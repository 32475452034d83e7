// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Pod is a pod that requests GPUs or slices, and has not ended.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// GPUs and Slices are how many it requests.
	GPUs   int    `json:"gpus"`
	Slices int    `json:"slices,omitempty"`
	Node   string `json:"node,omitempty"` // empty while it is pending
	// UUIDs are the GPUs that its containers were given, as metax-gpu-device says; empty if
	// that is not known.
	UUIDs []gpu.UUID `json:"uuids,omitempty"`
	// Unhealthy are the devices of its containers that the kubelet calls unhealthy; older
	// kubelets than 1.36 say nothing, unless their feature ResourceHealthStatus is on.
	Unhealthy []string `json:"unhealthy,omitempty"`
	// State is "pending", "starting", "running", "ending", "succeeded" or "failed".
	State string `json:"state"`
	// Message is why it is pending, as the scheduler says, or why it failed; empty for others.
	Message string `json:"message,omitempty"`
}

// Pods returns the pods that request GPUs or slices and have not ended, in the order of
// objects.
func Pods(o objects.Objects) []Pod {
	pods := []Pod{}
	for i := range o.Pods {
		if p := &o.Pods[i]; objects.RequestsGPUs(p) && !objects.HasEnded(p) {
			pods = append(pods, newPod(p))
		}
	}
	return pods
}

func newPod(object *corev1.Pod) Pod {
	p := Pod{
		Namespace: object.Namespace, Name: object.Name, Node: object.Spec.NodeName, State: "running",
		GPUs: objects.Requested(object, protocol.Resource), Slices: objects.Requested(object, protocol.SliceResource),
	}
	if text, ok := object.Annotations[protocol.GivenAnnotation]; ok && p.Node != "" {
		p.UUIDs, _ = protocol.ParseGiven(text) // not known if it is not valid
	}
	p.Unhealthy = unhealthyDevices(object)
	switch {
	case objects.HasEnded(object):
		p.State = strings.ToLower(string(object.Status.Phase))
		p.Message = terminal.Message(strings.Trim(object.Status.Reason+": "+object.Status.Message, ": "))
	case object.DeletionTimestamp != nil:
		p.State = "ending"
	case p.Node == "":
		p.State = "pending"
		for _, c := range object.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				p.Message = terminal.Message(c.Message)
			}
		}
	case object.Status.Phase != corev1.PodRunning:
		p.State = "starting"
	}
	return p
}

// unhealthyDevices returns the IDs of GPUs and slices that the status of a pod calls
// unhealthy, ascending.
func unhealthyDevices(object *corev1.Pod) (ids []string) {
	for _, c := range slices.Concat(object.Status.InitContainerStatuses, object.Status.ContainerStatuses) {
		for _, r := range c.AllocatedResourcesStatus {
			if r.Name != protocol.Resource && r.Name != protocol.SliceResource {
				continue
			}
			for _, device := range r.Resources {
				if device.Health == corev1.ResourceHealthStatusUnhealthy {
					ids = append(ids, terminal.Line(string(device.ResourceID)))
				}
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// healthText says which devices of a pod are unhealthy, "" if none is known to be.
func (p Pod) healthText() string {
	if len(p.Unhealthy) == 0 {
		return ""
	}
	return "unhealthy: " + wording.Some(p.Unhealthy, mostLines)
}

func (p Pod) requestedCount(resource string) int {
	if resource == protocol.SliceResource {
		return p.Slices
	}
	return p.GPUs
}

// podRows are the pods as rows of a table, without a head.
func podRows(pods []Pod) (rows [][]string) {
	for _, p := range pods {
		rows = append(rows, []string{p.Namespace, p.Name, formatCount(p.GPUs), formatCount(p.Slices), p.Node, p.State})
	}
	return rows
}

var podHead = []string{"NAMESPACE", "POD", "GPUS", "SLICES", "NODE", "STATE"}

// PodList are the pods of a cluster or of a namespace.
type PodList struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      []Pod  `json:"items"`
}

// NewPodList returns the pods of a namespace, or of all for "", with that name unless it is
// empty.
func NewPodList(o objects.Objects, namespace, name string) PodList {
	l := PodList{apiVersion, "TopPodList", []Pod{}}
	for _, p := range Pods(o) {
		if (namespace == "" || p.Namespace == namespace) && (name == "" || p.Name == name) {
			l.Items = append(l.Items, p)
		}
	}
	return l
}

// Text is the list as a table, why pods are pending, and which have unhealthy GPUs.
func (l PodList) Text() string {
	if len(l.Items) == 0 {
		return "no pod requests GPUs\n"
	}
	text := terminal.Table(append([][]string{podHead}, podRows(l.Items)...))
	var why strings.Builder
	for _, p := range l.Items {
		if p.Message != "" {
			why.WriteString(terminal.Line("pending: "+p.Namespace+"/"+p.Name+": "+p.Message) + "\n")
		}
		if text := p.healthText(); text != "" {
			why.WriteString(terminal.Line(p.Namespace+"/"+p.Name+": "+text) + "\n")
		}
	}
	return text + why.String()
}
