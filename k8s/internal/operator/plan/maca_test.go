// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

func TestFamilyOf(t *testing.T) {
	for image, want := range map[string]string{
		"maca-c500:2.18.0.3-ubuntu18.04-amd64":                "MXC",
		"hub.example.com:5000/c/mxc500-maca:2.23-ubuntu20.04": "MXC",
		"maca-c550@sha256:" + strings.Repeat("1", 64):         "MXC",
		"Maca-C280:1": "MXC",
		"cr.metax-tech.com/library/maca-n100:2.18.0.3": "MXN",
		"mxn260-maca:3":                      "MXN",
		"maca:3.8.0.1":                       "",
		"maca:c500":                          "",
		"maca-n100.example.com/maca:3.8.0.1": "",
		"maca@sha256:" + strings.Repeat("c500", 16): "",
		"basic500:1": "",
	} {
		if got := familyOf(image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
}

// TestFamilies has nodes of two families, and the images that each of them pulls.
func TestFamilies(t *testing.T) {
	spec := "{maca: {image: 'hub/operator-controller:2', payload: {registry: hub/library, images: ['maca-c500:1', 'maca-n100:2', 'other.example.com/maca:3']}, cleanupConfig: {threshold: 2, cleanupPolicy: OlderVersionFirst}}}"
	w := &world{Manifests: manifests(t, "{hostRoot: /node}"), nodes: Nodes{GPU: 2, Families: map[string]int32{"MXC": 1, "MXN": 1}}, present: map[string]*appsv1.DaemonSet{}}
	w.run(object(t, spec))
	for set, want := range map[string][]string{
		"metax-maca MXC":   {"hub/operator-controller:2", "hub/library/maca-c500:1", "other.example.com/maca:3"},
		"metax-maca-n MXN": {"hub/operator-controller:2", "hub/library/maca-n100:2", "other.example.com/maca:3"},
	} {
		name, family, _ := strings.Cut(set, " ")
		pod := w.present[name].Spec.Template.Spec
		var images []string
		for _, c := range pod.InitContainers {
			images = append(images, c.Image)
		}
		if d := cmp.Diff(want, images); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		var waits []string
		for _, arg := range pod.InitContainers[0].Args {
			if image, ok := strings.CutPrefix(arg, "--image="); ok {
				waits = append(waits, image)
			}
		}
		if d := cmp.Diff(want[1:], waits); d != "" {
			t.Errorf("%s waits for %s", name, d)
		}
		if got := pod.NodeSelector["metax-tech.com/gpu.family"]; got != family || pod.NodeSelector["metax-tech.com/gpu.installed"] != "true" {
			t.Errorf("%s: %v", name, pod.NodeSelector)
		}
		for _, arg := range []string{"--threshold=2", "--cleanup-policy=OlderVersionFirst", "--engine-root=/node"} {
			if !slices.Contains(pod.Containers[0].Args, arg) {
				t.Errorf("%s: no %s in %q", name, arg, pod.Containers[0].Args)
			}
		}
		// In a stranger's image, our program runs; the agent moves what was copied out of it.
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			if s := c.SecurityContext; s.Privileged != nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Contains(s.Capabilities.Drop, "ALL") {
				t.Errorf("%s of %s: %+v", c.Name, name, s)
			}
		}
	}
	if args := w.present["metax-gpu-device"].Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--maca=fallback") {
		t.Errorf("%q", args)
	}
}
