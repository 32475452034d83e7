// Package charts holds the Helm charts of the cluster side, and what metax-operator takes from them.
package charts

import "embed"

// Extensions has the chart metax-gpu-extensions, in the directory of its name.
//
//go:embed all:metax-gpu-extensions
var Extensions embed.FS

// CRD is the definition of the resource ClusterOperator, as YAML.
//
//go:embed metax-operator/crds/clusteroperators.yaml
var CRD []byte
