// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/plugin"
)

// TestMixed has the kubelet on a node that shares its GPUs with docker: leased GPUs leave
// Allocatable and no pod gets one, also in the moment before the kubelet knows.
func TestMixed(t *testing.T) {
	node, root := simulated(t, "c500-8")
	dir := filepath.Join(t.TempDir(), "leases")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	k := startKubelet(t)
	d := startPlugin(t, k, node, root)
	k.await(8, 8)
	leases, err := plugin.OpenLeases(dir, "boot")
	if err != nil {
		t.Fatal(err)
	}
	d.allocator.Leases, d.allocator.State.Mixed = leases, true
	sync := func(healthy int64) {
		t.Helper()
		if err := d.allocator.SyncLeases(t.Context()); err != nil && healthy > 0 {
			t.Fatal(err)
		}
		d.look()
		k.await(8, healthy)
	}
	docker := func(indices ...int) {
		t.Helper()
		err := ledger.New(dir, "boot").Update(t.Context(), func(s *lease.State) error {
			s.New = false
			s.Leases = slices.DeleteFunc(s.Leases, func(l usage.Lease) bool { return l.Engine == "docker" })
			var gpus []gpu.BDF
			for _, i := range indices {
				gpus = append(gpus, node.GPUs[i].BDF)
			}
			if len(gpus) > 0 {
				s.Leases = append([]usage.Lease{{ID: "000000000000", Rev: 1, GPUs: gpus, Engine: "docker", Verb: usage.VerbRun}}, s.Leases...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	sync(0) // nobody has looked at the leases since the boot
	if err := k.admit(newPod("early", "1")); err == nil {
		t.Error("a pod gets a GPU of a node whose leases are not known")
	}
	docker(0, 1)
	sync(6)
	first := newPod("first", "4")
	if err := k.admit(first); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1} {
		if slices.Contains(k.devices(first, "c0"), string(node.GPUs[i].UUID)) {
			t.Errorf("GPU %d has a lease, and the pod has %v", i, k.devices(first, "c0"))
		}
	}
	state, err := ledger.New(dir, "boot").Read()
	if err != nil || len(state.Leases) != 2 || len(state.Leases[1].GPUs) != 4 {
		t.Errorf("the leases are %v, %v", state.Leases, err)
	}

	docker(0, 1, 2, 3) // the kubelet is not told yet
	if err := k.admit(newPod("late", "2")); err == nil || !strings.Contains(err.Error(), "in use by lease 000000000000") {
		t.Errorf("a pod and docker have the same GPUs: %v", err)
	}
	docker()
	sync(8)
	second := newPod("second", "4")
	if err := k.admit(second); err != nil {
		t.Error(err)
	}
}
