// SPDX-License-Identifier: Apache-2.0

package plan

import "github.com/metax-ctk/container-toolkit/k8s/internal/protocol"

// deviceState deploys gpu-device once a node has a GPU.
func deviceState(in Input) outcome {
	return withDriver(in, whereGPUs(in,
		componentOutcome(in, "DevicePluginReady", protocol.Device, in.Operator.Spec.DevicePlugin.Component), protocol.Device))
}

// whereGPUs deploys a component only if a node has a GPU.
func whereGPUs(in Input, out outcome, name string) outcome {
	if out.set == nil || in.Nodes.GPU > 0 {
		return out
	}
	return conditionOutcome(out.Type, true, NoGPUNode, "%s is not deployed: no node has the label %s=true", name,
		protocol.LabelInstalled)
}
