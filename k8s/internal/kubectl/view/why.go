// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// Why says how each Node suits a pod. The Nodes are judged as they are now; the GPUs of a pod
// that is on a Node count as free.
type Why struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Pod        Pod    `json:"pod"`
	// Policy is how GPUs are picked for the pod.
	Policy string `json:"policy"`
	// Weights rank the Nodes; nil if the policy does.
	Weights *Weights `json:"weights,omitempty"`
	// Own says which GPUs the pod has; nil if that is not known.
	Own *Own `json:"own,omitempty"`
	// Nodes are in the order of names.
	Nodes []Verdict `json:"nodes"`
	// Remedies are what would make the pod fit; empty for a pod on a Node.
	Remedies []Remedy `json:"remedies"`
	Events   []Event  `json:"events"`
	// Notes are mistakes in the annotations of the pod, and what could not be read.
	Notes []string `json:"notes,omitempty"`

	largest int // GPUs of a Node
}

// Verdict is what is said of a Node for a pod.
type Verdict struct {
	Node string `json:"node"`
	Fits bool   `json:"fits"`
	// Rank is 10 for the best Nodes, one less for the next best, and so on to 0.
	Rank int `json:"rank"`
	// By is "key", "values" or "counts": what is known of the Node.
	By string `json:"by,omitempty"`
	// Reason is why the Node does not fit, or why it is judged by counts.
	Reason string `json:"reason,omitempty"`
	// GPUs is the best set of the Node's free GPUs, and Link the worst link inside it.
	GPUs []int  `json:"gpus,omitempty"`
	Link string `json:"link,omitempty"`
	// Score and Loss are those of the annotations that the vendor names.
	Score int `json:"score"`
	Loss  int `json:"loss"`
}

// Own are the GPUs of a pod.
type Own struct {
	GPUs []int  `json:"gpus"`
	Link string `json:"link,omitempty"` // the worst link between them; empty for one GPU
	// Best is the set that would be picked on the same Node now, and BestLink the worst link
	// in it.
	Best     []int  `json:"best,omitempty"`
	BestLink string `json:"bestLink,omitempty"`
}

// NewWhy judges all Nodes for a pod.
func NewWhy(o objects.Objects, object *corev1.Pod) Why {
	pod := newPod(object)
	w := Why{APIVersion: apiVersion, Kind: "Why", Pod: pod, Nodes: []Verdict{}, Remedies: []Remedy{}, Notes: o.Missing}
	w.Events = eventsAbout(o, "Pod", pod.Namespace, pod.Name)
	e := newExtender(o)
	request, errs := nodescore.RequestOf(object, protocol.Resource, e.policy)
	w.Policy = request.Policy.String()
	for _, err := range errs {
		w.Notes = append(w.Notes, err.Error())
	}
	if request.GPUs == 0 {
		return w
	}
	for _, problem := range e.problems {
		w.Notes = append(w.Notes, fmt.Sprintf(
			"ConfigMap %s: %s; metax-gpu-aware keeps the weights that it had, and after a restart the policy decides", protocol.AwareConfigMapName, problem))
	}
	if e.weights.Set() {
		w.Weights = &Weights{e.weights.Score, e.weights.Loss}
	}
	j := judge{shapes: new(nodescore.Shapes), pod: object, request: request}
	j.nodes, _ = newNodes(o, j.shapes)
	on := -1
	if !objects.HasEnded(object) {
		on = slices.IndexFunc(j.nodes, func(n Node) bool { return n.Name == pod.Node })
	}
	if on >= 0 {
		w.Own = j.nodes[on].without(pod)
	}
	judged := make([]nodescore.Judgement, len(j.nodes))
	for i, n := range j.nodes {
		judged[i] = j.judgeNode(n, request)
		w.largest = max(w.largest, n.GPUs, n.usableDevices())
	}
	for i, rank := range nodescore.Ranks(judged, request, e.weights) {
		v := verdict(judged[i], rank)
		if i == on && w.Own == nil && j.nodes[i].graph != nil {
			v.Reason = "which GPUs the pod has is not known, so they do not count as free"
		}
		if i == on && w.Own != nil {
			w.Own.Best, w.Own.BestLink = v.GPUs, v.Link
		}
		w.Nodes = append(w.Nodes, v)
	}
	if on < 0 {
		w.Remedies = append(w.Remedies, j.findRemedies(judged)...)
	}
	if !e.runs && len(o.Missing) == 0 && slices.ContainsFunc(w.Nodes, func(v Verdict) bool { return v.Rank > 0 }) {
		w.Notes = append(w.Notes, "no metax-gpu-aware runs in this cluster, so kube-scheduler does not know these ranks")
	}
	if asked := o.Asked[object.Spec.SchedulerName]; asked.IsSilent() {
		w.Notes = append(w.Notes, fmt.Sprintf(
			"%s does not ask metax-gpu-aware, so it does not know these ranks: it placed %s without a question at %s (docs/kubernetes-schedulers.md)",
			object.Spec.SchedulerName, asked.Pod, asked.Unasked.UTC().Format(time.RFC3339)))
	}
	return w
}

func verdict(j nodescore.Judgement, rank int) Verdict {
	v := Verdict{Node: j.Node, Fits: j.Fits, Rank: rank, Reason: j.Reason, Score: j.Score, Loss: j.Loss}
	if j.Fits {
		v.By = j.By.String()
	}
	if j.Offer != nil {
		v.GPUs = j.Offer.Key.GPUs
		if len(v.GPUs) > 1 {
			v.Link = j.Offer.Key.Class.String()
		}
	}
	return v
}

// without takes a pod from the Node, and returns which GPUs it had; nil if they are not known.
func (n *Node) without(pod Pod) *Own {
	n.known.Requested -= pod.GPUs
	if n.graph == nil || len(pod.UUIDs) != pod.GPUs {
		return nil
	}
	var own Own
	for i, g := range n.hardware.GPUs {
		if slices.ContainsFunc(pod.UUIDs, func(u gpu.UUID) bool { return g.UUID.Equal(string(u)) }) {
			own.GPUs = append(own.GPUs, i)
		}
	}
	if len(own.GPUs) != pod.GPUs {
		return nil
	}
	var healthy []int
	var worst topology.Kind
	for at, i := range own.GPUs {
		for _, k := range own.GPUs[at+1:] {
			if link := n.graph.Kind(i, k).Class(); own.Link == "" || link < worst {
				worst, own.Link = link, link.String()
			}
		}
		if n.gpuState(i) == stateInUse {
			healthy = append(healthy, i)
		}
	}
	n.known.State.Free = slices.Sorted(slices.Values(slices.Concat(n.known.State.Free, healthy)))
	return &own
}

// judge judges Nodes for a request of a pod.
type judge struct {
	shapes  *nodescore.Shapes
	nodes   []Node
	pod     *corev1.Pod
	request nodescore.Request
}

// judgeNode judges a Node as kube-scheduler with metax-gpu-aware does, as far as GPUs, labels,
// taints and the state of the Node are concerned.
func (j judge) judgeNode(n Node, r nodescore.Request) nodescore.Judgement {
	of := j.ofGPUs(n, r)
	if obstacle := j.obstacleOn(n); obstacle.text != "" {
		if of.Fits {
			of = nodescore.Judgement{Node: n.Name, Reason: obstacle.text}
		} else {
			of.Reason = obstacle.text + "; " + of.Reason
		}
	}
	return of
}

// ofGPUs judges a Node by its GPUs alone.
func (j judge) ofGPUs(n Node, r nodescore.Request) nodescore.Judgement {
	if !slices.ContainsFunc(n.Resources, func(r Resource) bool { return r.Name == protocol.Resource }) {
		return nodescore.Judgement{Node: n.Name, Reason: "it does not serve " + protocol.Resource}
	}
	of := j.shapes.Judge(n.known, r)
	if left := n.known.Allocatable - n.known.Requested; of.Fits && left < r.GPUs { // the scheduler sees that itself
		err := alloc.InsufficientError{Need: r.GPUs, Free: max(0, left), Of: n.GPUs}
		of = nodescore.Judgement{Node: n.Name, Reason: err.Error()}
	}
	return of
}

// obstacle is why a pod cannot be on a Node whatever its GPUs are; the zero value if it can.
type obstacle struct {
	kind RemedyKind
	text string
}

func (j judge) obstacleOn(n Node) obstacle {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(j.pod).Match(n.object); err != nil || !ok {
		return obstacle{Select, "its labels do not match the pod's node selector or affinity"}
	}
	if !slices.Contains(n.Status, "ready") {
		return obstacle{Repair, "it is not ready"}
	}
	const compares = true // the API server takes Lt and Gt only where the scheduler compares
	taints, tolerations := n.object.Spec.Taints, j.pod.Spec.Tolerations
	taint, untolerated := scheduling.FindMatchingUntoleratedTaint(logr.Discard(), taints, tolerations,
		func(t *corev1.Taint) bool {
			return t.Effect != corev1.TaintEffectPreferNoSchedule && t.Key != corev1.TaintNodeUnschedulable
		}, compares)
	if untolerated {
		return obstacle{Tolerate, fmt.Sprintf("the pod does not tolerate its taint %s:%s", taint.Key, taint.Effect)}
	}
	if n.object.Spec.Unschedulable {
		return obstacle{Uncordon, "it is cordoned"}
	}
	return obstacle{}
}
