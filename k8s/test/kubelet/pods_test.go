// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPods is the way of pods on a node with two domains of four GPUs.
func TestPods(t *testing.T) {
	k := startKubelet(t)
	node, root := simulated(t, "c500-8")
	d := startPlugin(t, k, node, root)
	k.await(8, 8)

	names := func(gpus ...int) (cdi, ids []string) {
		for _, i := range gpus {
			ids = append(ids, string(node.GPUs[i].UUID))
			cdi = append(cdi, "metax-tech.com/gpu="+string(node.GPUs[i].UUID))
		}
		return cdi, ids
	}
	for _, test := range []struct {
		pod  string
		n    string
		gpus []int
	}{
		{"pair", "2", []int{0, 1}},
		{"quad", "4", []int{4, 5, 6, 7}},
		{"rest", "2", []int{2, 3}},
	} {
		pod := newPod(test.pod, test.n)
		if err := k.admit(pod); err != nil {
			t.Fatal(err)
		}
		got, err := k.cdi(pod, pod.Spec.Containers[0])
		if err != nil {
			t.Fatal(err)
		}
		want, _ := names(test.gpus...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", test.pod, diff)
		}
	}
	if err := k.admit(newPod("late", "1")); err == nil {
		t.Error("a ninth GPU was given")
	}
	d.look(3)
	k.await(8, 7)
	d.look()
	k.await(8, 8)
}
