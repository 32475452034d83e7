// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// runtimeState deploys nothing with CDI: an engine then gives a pod its GPUs by the specs that
// gpu-device writes. Otherwise engines are set up, on one node after the other: a new node
// gets its label when those before are done, and the DaemonSet replaces one pod at a time.
// What was set up is taken back in the same way, before the DaemonSet goes.
func runtimeState(in Input) outcome {
	const kind = "RuntimeReady"
	spec := in.Operator.Spec
	r, present := spec.Runtime, in.Present[protocol.Runtime]
	without := spec.MinimalMode || (r.Deploy != nil && !*r.Deploy)
	if without || r.Config.CDIMode == nil || *r.Config.CDIMode {
		if present != nil && !isTakenBack(in, present) {
			return takeBack(in, kind)
		}
		out := outcome{}
		if !without {
			out = conditionOutcome(kind, true, Host, "engines inject GPUs by CDI and are not changed")
		}
		if present == nil {
			out.shut = in.Nodes.letIn(nil)
		}
		return out
	}
	r.Deploy = nil
	out := whereGPUs(in, componentOutcome(in, kind, protocol.Runtime, r.Component), protocol.Runtime)
	if out.set == nil {
		return out
	}
	selector := out.set.Spec.Template.Spec.NodeSelector
	waiting := in.Nodes.waiting(selector)
	busy := in.Nodes.unsettled(selector)
	if bad := in.Nodes.notReady(report.Runtime); len(bad) > 0 {
		out.fault = "not ready: " + wording.Some(bad, mostNames)
	}
	if len(busy) > 0 {
		out.wait = "being set up: " + wording.Some(busy, mostNames)
	} else if len(waiting) > 0 {
		out.wait = "not set up yet, one after the other: " + wording.Some(waiting, mostNames)
	}
	if len(waiting) > 0 && len(busy) == 0 && (present == nil || isRolledOut(present)) {
		out.open = waiting[:1]
	}
	return out
}

// takeBack makes the agents take back what they set up.
func takeBack(in Input, kind string) outcome {
	c := in.Operator.Spec.Runtime.Component
	c.Deploy = nil
	out := componentOutcome(in, kind, protocol.Runtime, c)
	if out.set == nil {
		return out
	}
	pod := &out.set.Spec.Template.Spec
	for i := range pod.InitContainers {
		pod.InitContainers[i].Args = append(pod.InitContainers[i].Args, removeFlag)
	}
	for i := range pod.Containers {
		pod.Containers[i].Args = append(pod.Containers[i].Args, removeFlag)
	}
	out.wait = "what was set up in engines is taken back"
	if bad := in.Nodes.notReady(report.Runtime); len(bad) > 0 {
		out.wait += ": " + wording.Some(bad, mostNames)
	}
	return out
}

// removeFlag makes an agent take back what it set up.
const removeFlag = "--remove"

// isTakenBack reports whether the agents on all nodes have taken back what they set up. They
// then have no report.
func isTakenBack(in Input, set *appsv1.DaemonSet) bool {
	pod := set.Spec.Template.Spec
	return len(pod.Containers) > 0 && slices.Contains(pod.Containers[0].Args, removeFlag) && isRolledOut(set) &&
		len(in.Nodes.Reports[report.Runtime]) == 0
}

// isRolledOut reports whether all pods of a DaemonSet are as requested, and ready.
func isRolledOut(set *appsv1.DaemonSet) bool {
	s := set.Status
	return s.ObservedGeneration >= set.Generation && s.NumberReady >= s.DesiredNumberScheduled &&
		s.UpdatedNumberScheduled >= s.DesiredNumberScheduled
}

// letIn are the nodes that metax-container-runtime was let on to and that have the other
// labels of a selector.
func (n Nodes) letIn(selector map[string]string) []string { return n.matching(selector, true) }

// waiting are the nodes with the other labels that it was not let on to.
func (n Nodes) waiting(selector map[string]string) []string { return n.matching(selector, false) }

func (n Nodes) matching(selector map[string]string, in bool) (list []string) {
	for name, labels := range n.Labels {
		fits := (labels[protocol.LabelRuntime] == "true") == in
		for key, value := range selector {
			fits = fits && (key == protocol.LabelRuntime || labels[key] == value)
		}
		if fits {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// unsettled are the nodes whose engines are being set up, or did not start again.
func (n Nodes) unsettled(selector map[string]string) []string {
	return slices.DeleteFunc(n.letIn(selector), func(name string) bool {
		r, ok := n.Reports[report.Runtime][name]
		return ok && r.Reason != report.RestartFailed
	})
}
