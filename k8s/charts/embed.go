// SPDX-License-Identifier: Apache-2.0

// Package charts holds the Helm charts of the cluster side, and what metax-operator takes from
// them.
package charts

import "embed"

// Extensions has the chart metax-gpu-extensions, in the directory of its name.
//
//go:embed all:metax-gpu-extensions
var Extensions embed.FS

// Operator has of the chart metax-operator, in the directory of its name, the values, their
// schema, and the DaemonSets of the agents, which the controller makes and Helm does not.
//
//go:embed metax-operator/Chart.yaml metax-operator/values.yaml metax-operator/values.schema.json all:metax-operator/agents
var Operator embed.FS

// CRD is the definition of the resource ClusterOperator, as YAML.
//
//go:embed metax-operator/crds/clusteroperators.yaml
var CRD []byte
