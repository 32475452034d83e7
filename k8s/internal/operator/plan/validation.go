// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// validationState counts the nodes that can give GPUs to containers, and those where a
// container got one. It deploys nothing: gpu-label looks at the node, and a pod of DecideLooks
// at a GPU.
func validationState(in Input) outcome {
	const kind = "NodesValidated"
	if in.Nodes.GPU == 0 || !Validates(in.Operator.Spec, in.Rendered[protocol.Label]) {
		return outcome{}
	}
	if n := len(in.Nodes.NotReady); n > 0 {
		return conditionOutcome(kind, false, Incomplete,
			"%d of %d nodes with a GPU cannot give it to a container: %s. The log of %s there says why",
			n, in.Nodes.GPU, wording.Some(in.Nodes.NotReady, mostNames), protocol.Label)
	}
	if n := len(in.Looks.Failed); n > 0 {
		return conditionOutcome(kind, false, Incomplete, "on %d of %d nodes with a GPU a container did not get it: %s", n,
			in.Nodes.GPU, wording.Some(in.Looks.Failed, mostNames))
	}
	var seen []string
	if in.Looks.Shown > 0 {
		seen = append(seen, "a container got one on "+wording.Count(in.Looks.Shown, "node"))
	}
	if n := int(in.Nodes.GPU) - in.Looks.Shown; n > 0 {
		seen = append(seen, "on "+wording.Count(n, "node")+" all are in use")
	}
	return conditionOutcome(kind, true, Validated, "every node with a GPU can give it to a container: %s",
		strings.Join(seen, "; "))
}

// Validates reports whether nodes are validated, with a DaemonSet of gpu-label.
func Validates(spec v1alpha1.ClusterOperatorSpec, label *appsv1.DaemonSet) bool {
	plugin := spec.DevicePlugin.Deploy
	return label != nil && (plugin == nil || *plugin) &&
		slices.ContainsFunc(label.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
			return slices.Contains(c.Args, "--validate")
		})
}
