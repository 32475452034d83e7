package operator

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// validationState counts the nodes that can give GPUs to containers. It deploys nothing: gpu-label looks, unless
// it writes no labels of the Node object. Without the device plugin there is nothing to say.
func validationState(in Input) outcome {
	const kind = "NodesValidated"
	plugin, set := in.Operator.Spec.DevicePlugin.Deploy, in.Rendered[protocol.Label]
	if set == nil || in.Nodes.GPU == 0 || plugin != nil && !*plugin ||
		!slices.Contains(set.Spec.Template.Spec.Containers[0].Args, "--validate") {
		return outcome{}
	}
	if n := len(in.Nodes.NotReady); n > 0 {
		return said(kind, false, Incomplete, "%d of %d nodes with a GPU cannot give it to a container: %s. The log of %s there says why", n, in.Nodes.GPU, some(in.Nodes.NotReady), protocol.Label)
	}
	return said(kind, true, Validated, "%d nodes with a GPU can give it to a container", in.Nodes.GPU)
}
