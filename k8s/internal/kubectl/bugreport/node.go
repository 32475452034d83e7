// SPDX-License-Identifier: Apache-2.0

package bugreport

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func (s scrubber) scrubNode(n *corev1.Node) *corev1.Node {
	out := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: s.Word(nodeName, n.Name),
			Labels: selectKeys(n.Labels, corev1.LabelArchStable, corev1.LabelOSStable,
				protocol.LabelInstalled, protocol.LabelDriverReady, protocol.LabelDriverMajor, protocol.LabelDriverMinor,
				protocol.LabelDriverPatch,
				protocol.LabelDriverMode, protocol.LabelFamily, protocol.LabelMemory, protocol.LabelProduct, protocol.LabelSRIOV,
				protocol.LabelVFNum),
			Annotations: s.scrubAnnotations(n.Annotations, protocol.ScoresAnnotation, protocol.LossesAnnotation,
				protocol.NodeAnnotation,
				protocol.StateAnnotation),
		},
		Spec: corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable},
	}
	for _, t := range n.Spec.Taints {
		for key := range s.scrubNodeSelector(map[string]string{t.Key: ""}) {
			out.Spec.Taints = append(out.Spec.Taints, corev1.Taint{Key: key, Value: s.Text(t.Value), Effect: t.Effect})
		}
	}
	out.Status.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion:          s.Text(n.Status.NodeInfo.KubeletVersion),
		ContainerRuntimeVersion: s.Text(n.Status.NodeInfo.ContainerRuntimeVersion),
		KernelVersion:           s.Text(n.Status.NodeInfo.KernelVersion), OSImage: s.Text(n.Status.NodeInfo.OSImage),
	}
	out.Status.Capacity = schedulingResources(n.Status.Capacity)
	out.Status.Allocatable = schedulingResources(n.Status.Allocatable)
	for _, c := range n.Status.Conditions {
		kept := corev1.NodeCondition{
			Type: c.Type, Status: c.Status, Reason: s.Text(c.Reason), Message: s.Text(c.Message),
			LastTransitionTime: c.LastTransitionTime,
		}
		out.Status.Conditions = append(out.Status.Conditions, kept)
	}
	return out
}

func (s scrubber) scrubConfigMap(c *corev1.ConfigMap) *corev1.ConfigMap {
	out := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: s.scrubNamespace(c.Namespace)},
		Data:       map[string]string{},
	}
	for key, text := range c.Data {
		out.Data[s.Text(key)] = s.setting(text)
	}
	return out
}

// setting returns a part of the ConfigMap. Nodes that it names may not exist, so that their
// names are not known otherwise.
func (s scrubber) setting(text string) string {
	var nodes []map[string]any
	if yaml.Unmarshal([]byte(text), &nodes) != nil || len(nodes) == 0 {
		return s.Text(text)
	}
	for _, n := range nodes {
		if name, ok := n["nodeName"].(string); ok {
			n["nodeName"] = s.Word(nodeName, name)
		}
		if labels, ok := n["nodeSelector"].(map[string]any); ok {
			known := map[string]string{}
			for key, v := range labels {
				known[key] = fmt.Sprint(v)
			}
			n["nodeSelector"] = s.scrubNodeSelector(known)
		}
	}
	kept, err := yaml.Marshal(nodes)
	if err != nil {
		return ""
	}
	return string(kept)
}
