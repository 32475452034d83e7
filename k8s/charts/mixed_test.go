// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestMixedNodes gives the plugin, and no other container, the leases of the simulated or real
// host, and only if the nodes are mixed.
func TestMixedNodes(t *testing.T) {
	for values, want := range map[string]string{
		"{}":                            "",
		"gpuDevice: {mixedNodes: true}": "/run/metax-container-toolkit/leases",
		"{hostRoot: /node, gpuDevice: {mixedNodes: true}}": "/node/run/metax-container-toolkit/leases",
	} {
		pod := daemonset(t, values, "metax-gpu-device").Spec.Template.Spec
		got, at := "", ""
		for _, v := range pod.Volumes {
			if v.Name == "leases" {
				got = v.HostPath.Path
			}
		}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "leases" })
			if i < 0 {
				continue
			}
			if c.Name != "gpu-device" || c.VolumeMounts[i].ReadOnly {
				t.Errorf("%s: %s mounts the leases as %+v", values, c.Name, c.VolumeMounts[i])
			}
			at = c.VolumeMounts[i].MountPath
		}
		plugin := pod.Containers[slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "gpu-device" })]
		reads := strings.Contains(strings.Join(plugin.Args, " "), "--leases-dir="+at)
		if got != want || (at != "") != (want != "") || !reads {
			t.Errorf("%s: the leases are at %q, mounted at %q; the arguments are %q", values, got, at, plugin.Args)
		}
	}
}
