// SPDX-License-Identifier: Apache-2.0

package plan

import "github.com/metax-ctk/container-toolkit/k8s/internal/protocol"

// exporterState deploys the exporter if it is switched on. Minimal mode has none.
func exporterState(in Input) outcome {
	c := in.Operator.Spec.DataExporter
	if c.Deploy == nil || !*c.Deploy {
		return outcome{}
	}
	if in.Operator.Spec.MinimalMode {
		return conditionOutcome("DataExporterReady", true, Minimal, "%s is not deployed in minimal mode", protocol.Exporter)
	}
	return withDriver(in,
		whereGPUs(in, componentOutcome(in, "DataExporterReady", protocol.Exporter, c), protocol.Exporter))
}
