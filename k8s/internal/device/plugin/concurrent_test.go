// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/inventory"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/reader"
)

// rounds is how often each caller calls.
const rounds = 20

// TestConcurrentCalls: the kubelet asks for GPUs, for preferences and for the list at once,
// while looks, requests, the kubelet's own list, another mode and leases come in.
func TestConcurrentCalls(t *testing.T) {
	t.Run("own node", func(t *testing.T) {
		a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
		callAtOnce(t, a, node, func() error { return nil })
	})
	t.Run("mixed node", func(t *testing.T) {
		a, node, docker := mixed(t)
		docker.set()
		callAtOnce(t, a, node, func() error { return a.SyncLeases(t.Context()) })
		if leased := docker.ofPods(); len(leased) != len(node.GPUs) {
			t.Errorf("leases of pods: %v", leased)
		}
	})
}

// callAtOnce gives each GPU of a node again and again. Afterwards, each is in the record once,
// and in its file.
func callAtOnce(t *testing.T, a *Allocator, node gpu.Node, syncLeases func() error) {
	ids := uuids(node, 0, 1, 2, 3, 4, 5, 6, 7)
	log := slog.New(slog.DiscardHandler)
	native := protocol.ModeSettings{Mode: protocol.ModeNative}
	r := &Resource{Server: &Server{Backend: a, Log: log}, Modes: []protocol.Mode{protocol.ModeNative}}
	n := &Node{Rules: health.DefaultRules, Options: inventory.Options{ModeSettings: native}, Allocator: a, Resources: []*Resource{r}, Log: log}
	n.See(node, health.FromNode(node), time.Now())
	a.State.Switch(native)
	kubelet := connect(t, r.Server)
	give := func(id string) error {
		_, err := kubelet.Allocate(t.Context(), &v1beta1.AllocateRequest{ContainerRequests: []*v1beta1.ContainerAllocateRequest{{DevicesIds: []string{id}}}})
		return err
	}
	if err := give(ids[0]); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	repeat := func(what string, call func(i int) error) {
		all.Go(func() {
			for i := range rounds {
				if err := call(i); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	for _, id := range ids {
		repeat("allocate", func(int) error { return give(id) })
	}
	for range 2 {
		repeat("prefer", func(i int) error {
			answer, err := kubelet.GetPreferredAllocation(t.Context(), &v1beta1.PreferredAllocationRequest{
				ContainerRequests: []*v1beta1.ContainerPreferredAllocationRequest{{AvailableDeviceIDs: ids, AllocationSize: int32(1 + i%4)}},
			})
			if err == nil && len(answer.ContainerResponses[0].DeviceIDs) != 1+i%4 {
				t.Errorf("preferred of %d: %v", 1+i%4, answer.ContainerResponses[0].DeviceIDs)
			}
			return err
		})
		repeat("list", func(int) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := kubelet.ListAndWatch(ctx, new(v1beta1.Empty))
			if err != nil {
				return err
			}
			list, err := stream.Recv()
			if err == nil && len(list.Devices) != len(ids) {
				t.Errorf("%d devices are listed", len(list.Devices))
			}
			return err
		})
	}
	repeat("start", func(i int) error {
		_, err := kubelet.PreStartContainer(t.Context(), &v1beta1.PreStartContainerRequest{DevicesIds: ids[i%8:]})
		return err
	})
	repeat("look", func(int) error { n.See(node, health.FromNode(node), time.Now()); return nil })
	repeat("learn", func(i int) error {
		a.State.SetRequests([]allocate.Request{request("pod", 1+i%4, protocol.PodChoice{})})
		a.State.SetListed([]allocations.Listed{{Container: allocations.Container{Namespace: "team", Pod: "pod", Name: "main"}, IDs: ids[:i%8]}})
		a.State.SetCDI(i%2 == 0)
		return nil
	})
	repeat("switch", func(int) error {
		if now, blocked := a.State.Switch(protocol.ModeSettings{Mode: protocol.ModeShared, Shares: 2}); now != native || (blocked == "") {
			t.Errorf("the mode is %v, blocked %q", now, blocked)
		}
		return nil
	})
	repeat("leases", func(int) error { return syncLeases() })
	all.Wait()
	if got, outside := a.State.InUse(); cmp.Diff(slices.Sorted(slices.Values(ids)), got) != "" || len(outside) > 0 {
		t.Errorf("in use: %v, outside: %v", got, outside)
	}
	var recorded []string
	for _, e := range a.State.view().record.Entries {
		recorded = append(recorded, e.IDs...)
	}
	if slices.Sort(recorded); cmp.Diff(slices.Sorted(slices.Values(ids)), recorded) != "" {
		t.Errorf("recorded: %v", recorded)
	}
	kept, err := a.State.Store.Load()
	if diff := cmp.Diff(a.State.view().record, kept); err != nil || diff != "" {
		t.Errorf("the file of the record: %v, %s", err, diff)
	}
}

// TestConcurrentSlices: the containers of a pod are asked for at once, while slices are swept.
// The driver is asked for one thing after another, and each container has a slice of its own.
func TestConcurrentSlices(t *testing.T) {
	const containers = 4
	pod := sliced("pod", containers)
	s := newSlicing(t, lockOf+"pod", pod)
	var changes atomic.Int32
	s.Slices.Change = func(ctx context.Context, c reader.Change) (gpu.Node, error) {
		if changes.Add(1) > 1 {
			t.Error("slices are changed twice at once")
		}
		defer changes.Add(-1)
		time.Sleep(time.Millisecond)
		return s.change(ctx, c)
	}
	var all sync.WaitGroup
	for i := range containers {
		all.Go(func() {
			if _, err := s.Allocate([]string{inventory.SliceID(s.State.view().snapshot.Node().GPUs[7].UUID, i)}); err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 {
		all.Go(func() {
			for range rounds {
				s.Slices.Sweep(t.Context(), true)
			}
		})
	}
	all.Go(func() {
		for range rounds {
			s.State.SetRequests(requestsOf(pod))
			s.State.view().registration()
			s.State.view().podsWithGPUs()
		}
	})
	all.Wait()
	if got := s.state("pod"); got != "free success" || s.slices() != containers || len(s.files()) != containers {
		t.Errorf("%s, %d slices, %v", got, s.slices(), s.files())
	}
}
