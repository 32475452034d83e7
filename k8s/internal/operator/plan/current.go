// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metax-ctk/container-toolkit/k8s/api/v1alpha1"
)

// hashAnnotation is on a DaemonSet: what was requested when it was applied. It shows that a
// field is no longer requested, which the DaemonSet itself cannot show.
const hashAnnotation = "gpu.metax-tech.com/requested"

// The annotations on the pods of a DaemonSet that are replaced only when they are deleted, as
// the driver's.
const (
	// RevisionAnnotation is what of the template decides about the driver: with another one,
	// the driver of a node may be another.
	RevisionAnnotation = "gpu.metax-tech.com/revision"
	// TemplateAnnotation is the template that a pod was made from.
	TemplateAnnotation = "gpu.metax-tech.com/template"
)

// adoptDaemonSet makes a DaemonSet the operator's. It ends with the ClusterOperator.
func adoptDaemonSet(set *appsv1.DaemonSet, o *v1alpha1.ClusterOperator) {
	yes := true
	set.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterOperator", Name: o.Name, UID: o.UID, Controller: &yes,
	}}
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		template := &set.Spec.Template
		delete(template.Annotations, TemplateAnnotation)
		setAnnotation(&template.ObjectMeta, RevisionAnnotation, hash(driverOf(template.Spec)))
		setAnnotation(&template.ObjectMeta, TemplateAnnotation, hash(template))
	}
	delete(set.Annotations, hashAnnotation)
	setAnnotation(&set.ObjectMeta, hashAnnotation, hash(Fields(set)))
}

func setAnnotation(m *metav1.ObjectMeta, name, value string) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[name] = value
}

func hash(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps, lists and texts
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

// Fields are the fields that a DaemonSet states: what is applied to the cluster.
func Fields(set *appsv1.DaemonSet) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		panic(err) // of a type that Kubernetes has
	}
	delete(fields, "status")
	for _, path := range [][]string{{"metadata"}, {"spec", "template", "metadata"}} {
		at := fields
		for _, key := range path {
			at, _ = at[key].(map[string]any)
		}
		delete(at, "creationTimestamp")
	}
	return fields
}

// isCurrent reports whether a DaemonSet is in the cluster as requested. The API server adds
// fields with their defaults, so that it may have more fields.
func isCurrent(requested, present *appsv1.DaemonSet) bool {
	if present == nil || present.Annotations[hashAnnotation] != requested.Annotations[hashAnnotation] {
		return false
	}
	want, have := Fields(requested), Fields(present)
	delete(want, "apiVersion") // an object of a cache has no kind
	delete(want, "kind")
	return covers(have, want)
}

// covers reports whether every field of want has the same value in have. An empty value equals
// an absent one.
func covers(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		if len(want) == 0 {
			return true
		}
		have, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range want {
			if !covers(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := have.([]any)
		if len(want) == 0 {
			return len(have) == 0
		}
		if !ok || len(have) != len(want) {
			return false
		}
		for i, value := range want {
			if !covers(have[i], value) {
				return false
			}
		}
		return true
	case nil:
		return true
	case string:
		return (want == "" && have == nil) || have == want
	}
	return have == want
}
