// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
)

// unbuiltState refuses the components that this version does not have.
func unbuiltState(in Input) outcome {
	spec := in.Operator.Spec
	var requested []string
	for _, c := range []struct {
		name string
		v1alpha1.Switch
	}{
		{"openshift", spec.OpenShift},
		{"topoDiscovery", spec.TopoDiscovery},
		{"gpuScheduler", spec.GPUScheduler},
	} {
		if c.Deploy != nil && *c.Deploy {
			requested = append(requested, c.name)
		}
	}
	if len(requested) == 0 {
		return outcome{}
	}
	return conditionOutcome("OptionsSupported", false, NotBuilt, "this version does not have %s: set deploy to false",
		strings.Join(requested, ", "))
}
