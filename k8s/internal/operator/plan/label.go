// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// labelState deploys gpu-label on every node: its labels are the gates of everything else.
func labelState(in Input) outcome {
	return componentOutcome(in, "LabelgenReady", protocol.Label, in.Operator.Spec.Labelgen)
}

// componentOutcome is the state of a component that is a DaemonSet, unless it is switched off.
// With a mistake in the spec, the DaemonSet stays as it is.
func componentOutcome(in Input, kind, name string, c v1alpha1.Component) outcome {
	set := in.Rendered[name]
	if set == nil || (c.Deploy != nil && !*c.Deploy) {
		return outcome{}
	}
	out := conditionOutcome(kind, true, Deployed, "")
	err := mergePods(set, in.Operator.Spec.PodTemplateSpec, c.PodTemplateSpec)
	if err == nil && c.Image != "" {
		if protocol.IsVendorImage(c.Image) {
			out.Message = "the image " + c.Image + " holds a program of the vendor's and is not used"
		} else {
			_, err = protocol.ParseImage(c.Image)
		}
	}
	if err != nil {
		out = conditionOutcome(kind, false, Invalid, "%s stays as it is: %v", name, err)
		out.keep = name
		return out
	}
	out.set = set
	return out
}
