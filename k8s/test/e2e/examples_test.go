// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// example is a pod of k8s/examples with the probe in place of its programs.
func example(t *testing.T, file, name string, probe ...string) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples", file))
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		t.Fatal(err)
	}
	p := probePod(name, 0, probe...)
	pod.Name, pod.Spec.RestartPolicy, pod.Spec.Volumes = name, p.Spec.RestartPolicy, p.Spec.Volumes
	pod.Spec.TerminationGracePeriodSeconds = p.Spec.TerminationGracePeriodSeconds
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Image, c.Command, c.VolumeMounts = p.Spec.Containers[0].Image, p.Spec.Containers[0].Command, p.Spec.Containers[0].VolumeMounts
	}
	return &pod
}
