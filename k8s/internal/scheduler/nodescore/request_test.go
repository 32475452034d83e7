// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func wants(n string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{protocol.Resource: resource.MustParse(n)}}}
}

func TestRequestOf(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		want        key.Policy
		errors      int
	}{
		"none":      {nil, key.Binpack, 0},
		"ours":      {map[string]string{protocol.PolicyAnnotation: "mtf"}, key.MTF, 0},
		"HAMi's":    {map[string]string{protocol.HAMiPolicyAnnotation: "spread"}, key.Spread, 0},
		"both":      {map[string]string{protocol.PolicyAnnotation: "mtf", protocol.HAMiPolicyAnnotation: "spread"}, key.MTF, 0},
		"a mistake": {map[string]string{protocol.PolicyAnnotation: "best"}, key.Binpack, 1},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}, Spec: corev1.PodSpec{Containers: []corev1.Container{wants("2")}}}
		r, errs := RequestOf(pod, protocol.Resource, key.Binpack)
		if (r != Request{2, c.want}) || len(errs) != c.errors {
			t.Errorf("%s: %+v, %v", name, r, errs)
		}
	}
}
