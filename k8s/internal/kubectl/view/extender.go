// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// extender is how the metax-gpu-aware of a cluster ranks Nodes.
type extender struct {
	runs    bool
	policy  key.Policy // of pods that name none
	weights protocol.Weights
	// problems are why the weights are not known; then the extender has those that it had
	// before, or by its policy.
	problems []string
}

// newExtender looks for the extender among the pods.
func newExtender(o objects.Objects) extender {
	e := extender{policy: key.Spread}
	for i := range o.Pods {
		p := &o.Pods[i]
		if !objects.IsAware(p) {
			continue
		}
		e.runs = true
		for _, c := range p.Spec.Containers {
			for _, arg := range c.Args {
				if policy, ok := objects.ParsePolicyArg(arg); ok {
					e.policy = policy
				}
			}
		}
		e.weights, e.problems = protocol.ParseWeights(o.Config(p.Namespace, protocol.AwareConfigMapName))
	}
	return e
}

// Weights are the weights by which all Nodes are ranked, instead of by a policy.
type Weights struct {
	Score float64 `json:"score"`
	Loss  float64 `json:"loss"`
}

// String returns the weights by the names that they have in the ConfigMap.
func (w Weights) String() string {
	return fmt.Sprintf("scoreWeight %g, lossWeight %g", w.Score, w.Loss)
}
