// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// TestModeChange goes from whole GPUs to shares and back. A kubelet that allocates meanwhile
// gets an error at worst.
func TestModeChange(t *testing.T) {
	node, root := simulated(t, "c500-8")
	k := startKubelet(t)
	d := startPlugin(t, k, node, root)
	k.await(8, 8)
	change := func(mode protocol.Mode) string {
		now, blocked := d.allocator.State.Switch(protocol.ModeSettings{Mode: mode, Shares: 2})
		d.mode = now
		d.look()
		return blocked
	}
	if blocked := change(protocol.ModeNative); blocked != "" {
		t.Error(blocked)
	}
	whole := newPod("whole", "2")
	if err := k.admit(whole); err != nil {
		t.Fatal(err)
	}
	if blocked := change(protocol.ModeShared); blocked == "" {
		t.Error("the mode changes while a pod has GPUs")
	}
	k.forget(whole)
	d.allocator.State.SetRequests(nil)
	d.end()
	if blocked := change(protocol.ModeShared); blocked != "" {
		t.Fatal(blocked)
	}
	k.await(24, 16)
	d.later += 2 * hideAfter
	d.look()
	k.await(16, 16)
	shares := newPod("shares", "9")
	if err := k.admit(shares); err != nil {
		t.Fatal(err)
	}
	gpus := map[string]int{}
	for _, id := range k.devices(shares, "c0") {
		gpus[id[:len(id)-1]]++
	}
	if len(gpus) != 8 {
		t.Errorf("nine shares are of %d GPUs, want 8", len(gpus))
	}
	if names, err := k.cdi(shares, shares.Spec.Containers[0]); err != nil || len(names) != 8 {
		t.Errorf("CDI names are %v, %v", names, err)
	}
}

// end ends all allocations that the plugin knows, as when their pods are gone for long.
func (d *device) end() {
	d.allocator.State.Store.Save(allocations.State{})
	d.allocator.State.Load()
}
