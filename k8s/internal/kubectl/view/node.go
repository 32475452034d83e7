// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// Counts are numbers of GPUs. A GPU counts once: an unhealthy one as unhealthy, whoever uses
// it.
type Counts struct {
	GPUs      int `json:"gpus"`
	Free      int `json:"free"`
	InUse     int `json:"inUse"`
	Unhealthy int `json:"unhealthy"`
	// Outside are in use by others than pods, such as containers of metax-docker.
	Outside int `json:"outside"`
}

func (c *Counts) add(more Counts) {
	c.GPUs, c.Free, c.InUse = c.GPUs+more.GPUs, c.Free+more.Free, c.InUse+more.InUse
	c.Unhealthy, c.Outside = c.Unhealthy+more.Unhealthy, c.Outside+more.Outside
}

// The sources of what is known of a Node.
const (
	fromAnnotations = "annotations" // of metax-gpu-device: each GPU is known
	fromCounts      = "counts"      // the Node's resources and the requests of its pods
)

// Node is a Node with GPUs.
type Node struct {
	Name    string `json:"name"`
	Product string `json:"product,omitempty"`
	Counts
	// Source is "annotations" if each GPU is known, or "counts".
	Source string `json:"source"`
	// FreeByDomain are the numbers of free GPUs of each MetaXLink domain, in the order of
	// domains.
	FreeByDomain []int `json:"freeByDomain,omitempty"`
	// Resources are what the Node offers to pods.
	Resources []Resource `json:"resources"`
	// Pods is how many pods on the node request GPUs or slices.
	Pods int `json:"pods"`
	// Status are words such as "ready", and Problems are sentences about what is wrong.
	Status   []string `json:"status"`
	Problems []string `json:"problems,omitempty"`

	object   *corev1.Node
	known    nodescore.Node // for its judgement
	pods     []Pod
	hardware gpu.Node
	graph    *topology.Graph
	state    protocol.NodeState
}

// Resource is an extended resource of a Node: devices that exist, that are healthy, and that
// pods of the Node request.
type Resource struct {
	Name        string `json:"name"`
	Capacity    int    `json:"capacity"`
	Allocatable int    `json:"allocatable"`
	Requested   int    `json:"requested"`
}

// newNode returns the Node for an object and the pods on it.
func newNode(object *corev1.Node, pods []Pod, shapes *nodescore.Shapes) Node {
	n := Node{
		Name: object.Name, Product: object.Labels[protocol.LabelProduct], Resources: []Resource{}, Pods: len(pods),
		object: object, pods: pods,
	}
	n.known = nodescore.Node{Name: object.Name, Published: shapes.Read(object.Annotations)}
	for _, name := range []corev1.ResourceName{protocol.Resource, protocol.SliceResource} {
		capacity, has := object.Status.Capacity[name]
		if !has {
			continue
		}
		allocatable := object.Status.Allocatable[name]
		r := Resource{Name: string(name), Capacity: int(capacity.Value()), Allocatable: int(allocatable.Value())}
		for _, p := range pods {
			r.Requested += p.requestedCount(r.Name)
		}
		n.Resources = append(n.Resources, r)
		if name == protocol.Resource {
			n.known.Allocatable, n.known.Requested = r.Allocatable, r.Requested
		}
	}
	if !n.readAnnotations(object.Annotations) {
		n.count()
	}
	if major, ok := object.Labels[protocol.LabelDriverMajor]; ok {
		n.hardware.Driver = &gpu.Driver{Version: major + "." + object.Labels[protocol.LabelDriverMinor] + "." +
			object.Labels[protocol.LabelDriverPatch]}
	}
	n.judge(object)
	return n
}

// readAnnotations reads the annotations of metax-gpu-device. It reports whether they are
// complete.
func (n *Node) readAnnotations(annotations map[string]string) bool {
	if p := n.known.Contradiction(); p != nil && p.Kind != nodescore.Missing {
		n.Problems = append(n.Problems, p.Text)
	}
	if n.known.Shape == nil {
		return false
	}
	t, err := protocol.ParseNodeTopology(annotations[protocol.NodeAnnotation])
	if err == nil {
		n.hardware, err = t.Node()
	}
	if err != nil {
		return false // does not happen: it has a Shape
	}
	n.state = n.known.State
	n.hardware.Name, n.Source = n.Name, fromAnnotations
	n.graph, _ = topology.New(n.hardware)
	n.graph.MarkDomains(n.hardware.GPUs)
	for i := range n.hardware.GPUs {
		n.hardware.GPUs[i].Healthy = !slices.Contains(n.state.Unhealthy, i)
		switch n.GPUs++; n.gpuState(i) {
		case stateFree:
			n.Free++
		case stateInUse:
			n.InUse++
		case stateUnhealthy:
			n.Unhealthy++
		case stateOutside:
			n.Outside++
		}
	}
	for _, domain := range n.graph.Domains() {
		n.FreeByDomain = append(n.FreeByDomain,
			len(slices.DeleteFunc(slices.Clone(domain), func(i int) bool { return n.gpuState(i) != stateFree })))
	}
	return true
}

// The states of a GPU.
const (
	stateFree      = "free"
	stateInUse     = "in use"
	stateUnhealthy = "unhealthy"
	stateOutside   = "in use outside Kubernetes"
)

func (n *Node) gpuState(i int) string {
	switch {
	case slices.Contains(n.state.Unhealthy, i):
		return stateUnhealthy
	case slices.Contains(n.state.Outside, i):
		return stateOutside
	case slices.Contains(n.state.Free, i):
		return stateFree
	}
	return stateInUse
}

// count derives the Counts from the resources. Of slices, it takes as few GPUs to be in use as
// can have them.
func (n *Node) count() {
	n.Source = fromCounts
	for _, r := range n.Resources {
		per := 1
		if r.Name == protocol.SliceResource {
			per = gpu.MaxSlices
		}
		c := Counts{GPUs: r.Capacity / per, Unhealthy: max(0, r.Capacity-r.Allocatable) / per}
		c.InUse = min((r.Requested+per-1)/per, c.GPUs-c.Unhealthy)
		c.Free = c.GPUs - c.Unhealthy - c.InUse
		n.Counts.add(c)
	}
}

// judge sets Status, and adds Problems.
func (n *Node) judge(object *corev1.Node) {
	ready := "not ready"
	for _, c := range object.Status.Conditions {
		on := c.Status == corev1.ConditionTrue
		switch c.Type {
		case corev1.NodeReady:
			if on {
				ready = "ready"
			} else {
				n.Problems = append(n.Problems, "not ready: "+cmp.Or(c.Message, c.Reason))
			}
		case protocol.UnhealthyCondition:
			if on {
				n.Problems = append(n.Problems, c.Message)
			}
		case protocol.ModePendingCondition:
			if on {
				n.Problems = append(n.Problems, "its mode is not the configured one: "+c.Message)
			}
		}
	}
	n.Status = append(n.Status, ready)
	if object.Spec.Unschedulable {
		n.Status = append(n.Status, "cordoned")
	}
	if len(n.Resources) == 0 {
		n.Status = append(n.Status, "no plugin")
		n.Problems = append(n.Problems,
			fmt.Sprintf("no device plugin serves its GPUs: it has neither %s nor %s", protocol.Resource, protocol.SliceResource))
	}
}

// newNodes returns the Nodes, and the pods that are not on one of them.
func newNodes(o objects.Objects, shapes *nodescore.Shapes) (nodes []Node, pending []Pod) {
	on := map[string][]Pod{}
	for _, p := range Pods(o) {
		if p.Node == "" {
			pending = append(pending, p)
			continue
		}
		on[p.Node] = append(on[p.Node], p)
	}
	for i := range o.Nodes {
		nodes = append(nodes, newNode(&o.Nodes[i], on[o.Nodes[i].Name], shapes))
	}
	return nodes, pending
}
