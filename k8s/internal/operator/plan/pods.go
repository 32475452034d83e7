// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// mergePods merges pod templates into that of a DaemonSet, one after the other: maps are
// merged, lists are appended, anything else is replaced. The labels by which the DaemonSet
// finds its pods stay.
func mergePods(set *appsv1.DaemonSet, overlays ...*runtime.RawExtension) error {
	for _, overlay := range overlays {
		if overlay == nil || len(overlay.Raw) == 0 {
			continue
		}
		var base, over map[string]any
		text, err := json.Marshal(set.Spec.Template)
		if err == nil {
			err = json.Unmarshal(text, &base)
		}
		if err == nil {
			err = json.Unmarshal(overlay.Raw, &over)
		}
		if err == nil {
			text, err = json.Marshal(merged(base, over))
		}
		if err != nil {
			return fmt.Errorf("merge podTemplateSpec: %w", err)
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		var template corev1.PodTemplateSpec
		if err := decoder.Decode(&template); err != nil {
			return fmt.Errorf("podTemplateSpec is not a pod template: %w", err)
		}
		set.Spec.Template = template
	}
	maps.Copy(set.Spec.Template.Labels, set.Spec.Selector.MatchLabels)
	return nil
}

// merged is over merged into base.
func merged(base, over any) any {
	switch over := over.(type) {
	case map[string]any:
		if base, ok := base.(map[string]any); ok {
			result := maps.Clone(base)
			for key, value := range over {
				result[key] = value
				if had, ok := base[key]; ok {
					result[key] = merged(had, value)
				}
			}
			return result
		}
	case []any:
		if base, ok := base.([]any); ok {
			return append(append([]any{}, base...), over...)
		}
	}
	return over
}
