// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

func wants(n string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{protocol.Resource: resource.MustParse(n)}}}
}

// stays makes an init container one that keeps running.
func stays(c corev1.Container) corev1.Container {
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	return c
}

func TestRequested(t *testing.T) {
	limit := corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{protocol.Resource: resource.MustParse("2")}}}
	for name, c := range map[string]struct {
		init, containers []corev1.Container
		want             int
	}{
		"none":                       {nil, []corev1.Container{{}}, 0},
		"one":                        {nil, []corev1.Container{wants("2")}, 2},
		"two":                        {nil, []corev1.Container{wants("2"), {}, wants("1")}, 3},
		"a limit alone":              {nil, []corev1.Container{limit}, 2},
		"a smaller init container":   {[]corev1.Container{wants("2")}, []corev1.Container{wants("4")}, 4},
		"a greater init container":   {[]corev1.Container{wants("4"), wants("1")}, []corev1.Container{wants("2")}, 4},
		"a sidecar":                  {[]corev1.Container{stays(wants("1"))}, []corev1.Container{wants("2")}, 3},
		"an init container after it": {[]corev1.Container{stays(wants("1")), wants("4")}, []corev1.Container{wants("2")}, 5},
		"a sidecar after it":         {[]corev1.Container{wants("4"), stays(wants("1"))}, []corev1.Container{wants("2")}, 4},
		"far too many":               {nil, []corev1.Container{wants("9223372036854775807"), wants("9223372036854775807")}, maxRequest},
		"below 0":                    {nil, []corev1.Container{wants("-1"), wants("1")}, 1},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: c.init, Containers: c.containers}}
		if got := Requested(pod, protocol.Resource); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
