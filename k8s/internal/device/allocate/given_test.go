// SPDX-License-Identifier: Apache-2.0

package allocate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol/foreign"
)

func TestGivenTo(t *testing.T) {
	request := func(uid, pod, container string) Request {
		return Request{Wanted: allocations.Wanted{Container: allocations.Container{UID: uid, Namespace: "n", Pod: pod, Name: container}, Admitted: true}, Resource: protocol.Resource}
	}
	waits, slice := request("3", "waits", "c"), request("4", "slice", "c")
	waits.Admitted, slice.Resource = false, protocol.SliceResource
	listed := func(pod, container string, ids ...string) allocations.Listed {
		return allocations.Listed{Container: allocations.Container{Namespace: "n", Pod: pod, Name: container}, IDs: ids}
	}
	devices := []inventory.Device{
		{ID: "GPU-1", UUID: "GPU-1"},
		{ID: "GPU-2", GPU: 1, UUID: "GPU-2"},
		{ID: "GPU-3::0", GPU: 2, UUID: "GPU-3", Share: true},
		{ID: "GPU-3::1", GPU: 2, UUID: "GPU-3", Share: true},
		{ID: "GPU-4-sgpu0", UUID: "GPU-4", Slice: true},
	}
	all := []Request{request("2", "b", "c"), request("1", "a", "c"), request("1", "a", "d"), request("5", "gone", "c"), waits, slice}
	isListed := []allocations.Listed{
		listed("a", "d", "GPU-2"), listed("a", "c", "GPU-1"), listed("b", "c", "GPU-3::1", "GPU-3::0"), listed("waits", "c", "GPU-1"),
		listed("slice", "c", "GPU-4-sgpu0"), listed("gone", "c", "GPU-9"),
	}
	got := GivenTo(all, isListed, devices)
	want := []Given{{"2", "n", "b", []gpu.UUID{"GPU-3"}, []int{2}}, {"1", "n", "a", []gpu.UUID{"GPU-1", "GPU-2"}, []int{0, 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The record says which GPU a slice is of, and counts for pods that the kubelet lists.
	entry := func(uid, pod string) allocations.Entry {
		return allocations.Entry{For: &allocations.Container{UID: uid, Namespace: "n", Pod: pod, Name: "c"}, Slices: []allocations.Slice{{Slice: foreign.Slice{UUID: "GPU-5"}}}}
	}
	unlisted := request("6", "unlisted", "c")
	unlisted.Resource = protocol.SliceResource
	state := allocations.State{Entries: []allocations.Entry{entry("4", "slice"), entry("6", "unlisted"), entry("0", "slice")}}
	want = append(want, Given{UID: "4", Namespace: "n", Pod: "slice", GPUs: []gpu.UUID{"GPU-5"}})
	if diff := cmp.Diff(want, Holders(append(all, unlisted), state, isListed, devices)); diff != "" {
		t.Error(diff)
	}
}
