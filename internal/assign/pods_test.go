// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// The kubelet is asked for pods only on a node that has or had one, and a GPU of a pod is in
// use.
func TestPods(t *testing.T) {
	told := ps.Occupancy{
		GPUs:       []ps.GPU{{Index: 0, BDF: gpu.BDF{Bus: 1}}, {Index: 1, BDF: gpu.BDF{Bus: 2}}},
		Containers: []ps.Container{{Engine: usage.Kubernetes, ID: "team/a/main", Name: "team/a/main", GPUs: []int{1}, State: usage.Running}, {Engine: "docker", ID: "b", GPUs: []int{0}}},
	}
	want := []usage.Container{{
		Engine: usage.Kubernetes, ID: "team/a/main", State: usage.Running, Facts: usage.Facts{Name: "team/a/main", GPUs: []gpu.BDF{{Bus: 2}}},
	}}
	asked := false
	ask := func(err error) func(context.Context) (ps.Occupancy, error) {
		return func(context.Context) (ps.Occupancy, error) { asked = true; return told, err }
	}
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	sight, err := Pods(socket, ask(nil)).Look(t.Context(), usage.Question{})
	if d := cmp.Diff(want, sight.Containers); err != nil || sight.Partial || d != "" {
		t.Errorf("%v, partial %t %s", err, sight.Partial, d)
	}
	silent := errors.New("the kubelet does not run")
	if sight, err := Pods(socket, ask(silent)).Look(t.Context(), usage.Question{}); !errors.Is(err, silent) || !sight.Partial {
		t.Errorf("a kubelet that does not answer: %v, partial %t", err, sight.Partial)
	}
	asked = false
	if _, err := Pods(filepath.Join(socket, "none", "kubelet.sock"), ask(nil)).Look(t.Context(), usage.Question{}); !errors.Is(err, usage.ErrAbsent) || asked {
		t.Errorf("no kubelet: %v, asked %t", err, asked)
	}
}
