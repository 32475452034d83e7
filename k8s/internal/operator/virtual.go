package operator

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/report"
)

// configAnnotation is on the pods of an agent: which data the ConfigMap has that they read. Pods start again when it
// changes, because the kubelet brings a change to a pod that runs only after a minute or more.
const configAnnotation = "metax-ctk.io/config"

// vfState deploys the agent of virtual functions while the ConfigMap says something of a node, or a node reports that
// there is something to undo.
func vfState(in Input) outcome {
	const kind = "VirtualFunctionsReady"
	config := protocol.ParseVFNums(in.Configs[protocol.DriverConfigMap])
	if in.Operator.Spec.MinimalMode {
		return outcome{}
	}
	var out outcome
	if config.Wishes() || len(in.Nodes.Reports[report.VF]) > 0 {
		out = byConfig(in, deployed(in, kind, protocol.VFManager, v1alpha1.Component{}), report.VF, protocol.DriverConfigMap)
	}
	return withNotes(out, kind, protocol.DriverConfigMap, config.Notes())
}

// vfioState deploys the agent that binds GPUs to vfio-pci. Switched off, it stays until all GPUs are given back.
func vfioState(in Input) outcome {
	const kind = "VFIOReady"
	c, wished := in.Operator.Spec.VFIOManager, wishesVFIO(in.Operator.Spec)
	if !wished && len(in.Nodes.Reports[report.VFIO]) == 0 {
		return outcome{}
	}
	c.Deploy = nil
	out := byConfig(in, deployed(in, kind, protocol.VFIOManager, c), report.VFIO, protocol.VFIOConfigMap)
	if !wished {
		return out
	}
	return withNotes(out, kind, protocol.VFIOConfigMap, protocol.ParseVFIOGPUs(in.Configs[protocol.VFIOConfigMap]).Notes())
}

func wishesVFIO(spec v1alpha1.ClusterOperatorSpec) bool {
	return spec.VFIOManager.Deploy != nil && *spec.VFIOManager.Deploy && !spec.MinimalMode
}

// byConfig is an agent that reads a ConfigMap, with what the nodes report.
func byConfig(in Input, out outcome, component, config string) outcome {
	if out = whereGPUs(in, out, component); out.set == nil {
		return out
	}
	text, err := json.Marshal(in.Configs[config])
	if err != nil {
		panic(err) // of texts
	}
	pod := &out.set.Spec.Template.ObjectMeta
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[configAnnotation] = fmt.Sprintf("%x", sha256.Sum256(text))[:16]
	if bad := in.Nodes.notReady(component); len(bad) > 0 {
		out.Condition = said(out.Type, false, Incomplete, "%d of %d nodes with a GPU are not as wished: %s", len(bad), in.Nodes.GPU, some(bad)).Condition
	}
	return out
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
	out.Condition = said(kind, false, reason, "%s", message).Condition
	return out
}
