// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// Remedy is something that would make a pod fit on each of the Nodes.
type Remedy struct {
	Kind RemedyKind `json:"kind"`
	// Nodes are by name, or for EndPods those first where the fewest pods must end.
	Nodes []string `json:"nodes"`
	// GPUs is how many the pod can request at most, for RequestFewer; 0 for others.
	GPUs int `json:"gpus,omitempty"`
	// Pods are those that must end on the first Node, for EndPods.
	Pods []string `json:"pods,omitempty"`
	Text string   `json:"text"`
}

// RemedyKind is what has to be done.
type RemedyKind string

// The kinds of remedies.
const (
	Other        RemedyKind = "other"        // the GPUs fit; the scheduler's message says what does not
	RequestFewer RemedyKind = "requestFewer" // GPUs
	Uncordon     RemedyKind = "uncordon"
	Repair       RemedyKind = "repair" // a Node that is not ready, or GPUs that are unhealthy
	Tolerate     RemedyKind = "tolerate"
	Select       RemedyKind = "select"     // another node selector or affinity
	EndOutside   RemedyKind = "endOutside" // use of GPUs outside Kubernetes
	EndPods      RemedyKind = "endPods"
)

// findRemedies returns what would make the pod fit. judged are the judgements of the Nodes.
func (j judge) findRemedies(judged []nodescore.Judgement) (all []Remedy) {
	if fits := j.where(func(i int) bool { return judged[i].Fits }); len(fits) > 0 {
		return []Remedy{{Kind: Other, Nodes: fits, Text: "enough GPUs are free on " + shortNameList(fits) +
			": the scheduler has not placed the pod yet, or something other than GPUs is missing"}}
	}
	all = append(all, j.fewer()...)
	blocked := map[obstacle][]string{}
	var order []obstacle
	for _, n := range j.nodes {
		if o := j.obstacleOn(n); o.text != "" && j.ofGPUs(n, j.request).Fits {
			if blocked[o] == nil {
				order = append(order, o)
			}
			blocked[o] = append(blocked[o], n.Name)
		}
	}
	for _, o := range order {
		all = append(all,
			Remedy{Kind: o.kind, Nodes: blocked[o], Text: fmt.Sprintf("%s: %s", shortNameList(blocked[o]), map[RemedyKind]string{
				Uncordon: "has the GPUs, but is cordoned (kubectl uncordon NODE)",
				Repair:   "has the GPUs, but is not ready",
				Tolerate: "has the GPUs, but " + o.text,
				Select:   "has the GPUs, but the pod's node selector or affinity excludes it",
			}[o.kind])})
	}
	if nodes := j.where(func(i int) bool { return !judged[i].Never && j.isEnough(j.nodes[i], j.nodes[i].Unhealthy) }); len(
		nodes) > 0 {
		all = append(all, Remedy{Kind: Repair, Nodes: nodes, Text: shortNameList(nodes) +
			": has enough GPUs when its unhealthy ones are repaired (kubectl metax top node NODE)"})
	}
	if nodes := j.where(func(i int) bool { return !judged[i].Never && j.isEnough(j.nodes[i], j.nodes[i].Outside) }); len(
		nodes) > 0 {
		all = append(all, Remedy{Kind: EndOutside, Nodes: nodes, Text: shortNameList(nodes) +
			": has enough GPUs when those in use outside Kubernetes are free (there: metax-ctk ps)"})
	}
	return append(all, j.ends(judged)...)
}

// isEnough reports whether so many more GPUs, at least one, would be enough on a Node.
func (j judge) isEnough(n Node, more int) bool {
	return more > 0 && j.obstacleOn(n).text == "" && n.usableDevices()+more-n.known.Requested >= j.request.GPUs
}

// usableDevices is how many devices pods can have together.
func (n Node) usableDevices() int {
	if n.Source == fromAnnotations && n.known.Allocatable <= n.GPUs {
		return min(n.known.Allocatable, n.GPUs-n.Unhealthy-n.Outside)
	}
	return n.known.Allocatable
}

func (j judge) where(is func(int) bool) (names []string) {
	for i, n := range j.nodes {
		if is(i) {
			names = append(names, n.Name)
		}
	}
	return names
}

// fewer returns the greatest smaller number of GPUs that fits now.
func (j judge) fewer() []Remedy {
	most := 0
	for _, n := range j.nodes {
		most = max(most, n.usableDevices()-n.known.Requested)
	}
	for r := j.request; r.GPUs > 1; {
		if r.GPUs = min(r.GPUs-1, most); r.GPUs < 1 {
			break
		}
		nodes := j.where(func(i int) bool { return j.judgeNode(j.nodes[i], r).Fits })
		if len(nodes) > 0 {
			return []Remedy{{Kind: RequestFewer, Nodes: nodes, GPUs: r.GPUs, Text: fmt.Sprintf(
				"with %s instead of %d, it fits on %s", wording.Count(r.GPUs, "GPU"), j.request.GPUs, shortNameList(nodes))}}
		}
	}
	return nil
}

// ends returns the Nodes where the end of pods would leave enough GPUs.
func (j judge) ends(judged []nodescore.Judgement) []Remedy {
	type way struct {
		node string
		pods []Pod
		gpus int
	}
	var ways []way
	for i, n := range j.nodes {
		if judged[i].Never || j.obstacleOn(n).text != "" || n.usableDevices() < j.request.GPUs {
			continue
		}
		w := way{node: n.Name}
		pods := slices.DeleteFunc(slices.Clone(n.pods), func(p Pod) bool { return p.GPUs == 0 })
		slices.SortStableFunc(pods, func(a, b Pod) int { return cmp.Compare(a.GPUs, b.GPUs) })
		for missing := j.request.GPUs - (n.usableDevices() - n.known.Requested); missing > 0 && len(pods) > 0; {
			// The smallest pod that is enough, or else the largest.
			at := slices.IndexFunc(pods, func(p Pod) bool { return p.GPUs >= missing })
			if at < 0 {
				at = len(pods) - 1
			}
			w.pods, w.gpus, missing = append(w.pods, pods[at]), w.gpus+pods[at].GPUs, missing-pods[at].GPUs
			pods = slices.Delete(pods, at, at+1)
		}
		if len(w.pods) > 0 {
			ways = append(ways, w)
		}
	}
	if len(ways) == 0 {
		return nil
	}
	slices.SortStableFunc(ways,
		func(a, b way) int { return cmp.Or(cmp.Compare(len(a.pods), len(b.pods)), cmp.Compare(a.gpus, b.gpus)) })
	r := Remedy{Kind: EndPods}
	for _, w := range ways {
		r.Nodes = append(r.Nodes, w.node)
	}
	var words []string
	for _, p := range ways[0].pods {
		name := p.Namespace + "/" + p.Name
		r.Pods, words = append(r.Pods, name), append(words, fmt.Sprintf("%s (%s)", name, wording.Count(p.GPUs, "GPU")))
	}
	r.Text = fmt.Sprintf("%s has enough GPUs when %s has ended", ways[0].node, wording.Some(words, mostNames))
	if len(words) > 1 {
		r.Text = fmt.Sprintf("%s has enough GPUs when %s have ended", ways[0].node, wording.Some(words, mostNames))
	}
	if more := len(ways) - 1; more > 0 {
		r.Text += fmt.Sprintf("; so has each of %s when pods end there", wording.Count(more, "other node"))
	}
	return []Remedy{r}
}

// mostNames bounds how many names are in a line.
const mostNames = 3

func shortNameList(names []string) string { return strings.TrimSpace(wording.Some(names, mostNames)) }
