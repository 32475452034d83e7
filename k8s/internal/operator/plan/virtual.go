// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// configAnnotation is on the pods of an agent: which data the ConfigMap has that they read.
// Pods start again when it changes, because the kubelet brings a change to a pod that runs
// only after a minute or more.
const configAnnotation = "metax-ctk.io/config"

// vfState deploys the agent of virtual functions while the ConfigMap says something of a node,
// or a node reports that there is something to undo. In minimal mode, it stays until all is
// undone.
func vfState(in Input) outcome {
	const kind = "VirtualFunctionsReady"
	data := in.effectiveConfig(protocol.DriverConfigMap)
	config := protocol.ParseVFNums(data)
	minimal, made := in.Operator.Spec.MinimalMode, len(in.Nodes.Reports[report.VF]) > 0
	var out outcome
	if made || (!minimal && config.Wishes()) {
		out = byConfig(in, componentOutcome(in, kind, protocol.VFManager, v1alpha1.Component{}), report.VF, data,
			config.Names())
	}
	if minimal {
		if out.set != nil {
			c := &out.set.Spec.Template.Spec.Containers[0]
			c.Args = append(c.Args, "--give-back")
		}
		return out
	}
	return withNotes(out, kind, protocol.DriverConfigMap, config.Notes())
}

// vfioState deploys the agent that binds GPUs to vfio-pci. Switched off, it stays until all
// GPUs are given back.
func vfioState(in Input) outcome {
	const kind = "VFIOReady"
	c, requested := in.Operator.Spec.VFIOManager, requestsVFIO(in.Operator.Spec)
	if !requested && len(in.Nodes.Reports[report.VFIO]) == 0 {
		return outcome{}
	}
	c.Deploy = nil
	data := in.effectiveConfig(protocol.VFIOConfigMap)
	config := protocol.ParseVFIOGPUs(data)
	out := byConfig(in, componentOutcome(in, kind, protocol.VFIOManager, c), report.VFIO, data, config.Names())
	if !requested {
		return out
	}
	return withNotes(out, kind, protocol.VFIOConfigMap, config.Notes())
}

func requestsVFIO(spec v1alpha1.ClusterOperatorSpec) bool {
	return spec.VFIOManager.Deploy != nil && *spec.VFIOManager.Deploy && !spec.MinimalMode
}

// byConfig is an agent that reads a ConfigMap with that data, whose entries name nodes, with
// what the nodes report.
func byConfig(in Input, out outcome, component string, data map[string]string, names []string) outcome {
	if out = whereGPUs(in, out, component); out.set == nil {
		return out
	}
	template := &out.set.Spec.Template
	setAnnotation(&template.ObjectMeta, configAnnotation, protocol.Sum(data))
	if len(in.unknownNodes(names)) == 0 {
		c := &template.Spec.Containers[0]
		c.Args = append(c.Args, "--named="+protocol.Sum(data))
	}
	if bad := in.Nodes.notReady(component); len(bad) > 0 {
		out.Condition = conditionOutcome(out.Type, false, Incomplete, "%d of %d nodes with a GPU are not as requested: %s",
			len(bad), in.Nodes.GPU, wording.Some(bad, mostNames)).Condition
	}
	return out
}

// effectiveConfig returns the data of a ConfigMap that holds: that of the chart's values, with
// what people edited.
func (in Input) effectiveConfig(name string) map[string]string {
	data, _ := protocol.Edit(in.Configs[protocol.ValuesOf(name)], in.Configs[name])
	return data
}

// unknownNodes are the names that no node has.
func (in Input) unknownNodes(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, known := slices.BinarySearch(in.Nodes.All, name)
		return known
	})
}

// withNotes says what of a ConfigMap is not applied.
func withNotes(out outcome, kind, config string, notes []string) outcome {
	if len(notes) == 0 {
		return out
	}
	message := fmt.Sprintf("ConfigMap %s: %s", config, strings.Join(notes, "; "))
	if out.Message != "" {
		message = out.Message + "; " + message
	}
	reason := NotBuilt
	if out.Reason == Incomplete {
		reason = Incomplete
	}
	out.Condition = conditionOutcome(kind, false, reason, "%s", message).Condition
	return out
}
