// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	leases "github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// dockers are leases as metax-docker writes them.
type dockers struct {
	t   *testing.T
	dir string
}

func (d dockers) set(gpus ...gpu.BDF) {
	d.t.Helper()
	err := leases.New(d.dir, "boot").Update(d.t.Context(), func(s *lease.State) error {
		s.New = false
		var kept []usage.Lease
		for _, l := range s.Leases {
			if l.Engine == usage.Kubernetes {
				kept = append(kept, l)
			}
		}
		if s.Leases = append([]usage.Lease{}, kept...); len(gpus) > 0 {
			s.Leases = append([]usage.Lease{{ID: "000000000000", Rev: 1, GPUs: gpus, Engine: "docker", Verb: usage.VerbRun, User: &usage.User{UID: 7, Name: "ann"}}}, s.Leases...)
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// ofPods are the containers of the leases of pods, by their GPUs.
func (d dockers) ofPods() map[gpu.BDF]string {
	d.t.Helper()
	state, err := leases.New(d.dir, "boot").Read()
	if err != nil {
		d.t.Fatal(err)
	}
	all := map[gpu.BDF]string{}
	for _, l := range state.Leases {
		if l.Engine == usage.Kubernetes {
			for _, g := range l.GPUs {
				all[g] = l.Container
			}
		}
	}
	return all
}

// mixed is an allocator of a mixed node, with the leases of docker.
func mixed(t *testing.T) (*Allocator, gpu.Node, dockers) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "leases")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	a, node := allocator(t, t.TempDir(), "boot", new(strings.Builder))
	a.State.Mixed = true
	var err error
	if a.Leases, err = OpenLeases(dir, "boot"); err != nil {
		t.Fatal(err)
	}
	return a, node, dockers{t, dir}
}

func uuids(node gpu.Node, indices ...int) (ids []string) {
	for _, i := range indices {
		ids = append(ids, string(node.GPUs[i].UUID))
	}
	return ids
}

// TestMixedAllocate: a GPU that docker leased a moment ago is refused, and what is given is
// leased.
func TestMixedAllocate(t *testing.T) {
	a, node, docker := mixed(t)
	docker.set(node.GPUs[0].BDF)
	if _, err := a.Allocate(uuids(node, 0)); !errors.Is(err, lease.ErrBusy) || !strings.Contains(err.Error(), "lease 000000000000, of ann") {
		t.Errorf("a leased GPU: %v", err)
	}
	if ids, outside := a.State.InUse(); len(ids) > 0 || len(outside) != 1 {
		t.Errorf("after the refusal, in use: %v, outside: %v", ids, outside)
	}
	a.State.SetRequests([]allocate.Request{request("pod", 2, protocol.PodChoice{})})
	if _, err := a.Allocate(uuids(node, 2, 1)); err != nil {
		t.Fatal(err)
	}
	want := map[gpu.BDF]string{node.GPUs[1].BDF: "team/pod/main", node.GPUs[2].BDF: "team/pod/main"}
	if diff := cmp.Diff(want, docker.ofPods()); diff != "" {
		t.Error(diff)
	}
	if _, err := a.Allocate([]string{"GPU-none"}); err == nil {
		t.Error("a GPU that is not of this node is given")
	}
	if diff := cmp.Diff(want, docker.ofPods()); diff != "" {
		t.Errorf("after another refusal: %s", diff)
	}
}

// TestMixedDevices: what docker leases is withdrawn and never preferred, and comes back.
func TestMixedDevices(t *testing.T) {
	a, node, docker := mixed(t)
	all := uuids(node, 0, 1, 2, 3, 4, 5, 6, 7)
	unhealthy := func() (list []string) {
		for _, d := range a.State.Offered(devicesOf(node)) {
			if !d.Healthy {
				list = append(list, d.ID)
			}
		}
		return list
	}
	if err := a.SyncLeases(t.Context()); !errors.Is(err, lease.ErrNoState) || len(unhealthy()) != 8 {
		t.Errorf("before anybody has looked: %v, unhealthy: %v", err, unhealthy())
	}
	if _, err := a.Allocate(all[:1]); !errors.Is(err, lease.ErrNoState) {
		t.Errorf("before anybody has looked: %v", err)
	}
	docker.set(node.GPUs[0].BDF, node.GPUs[1].BDF)
	if err := a.SyncLeases(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all[:2], unhealthy()); diff != "" {
		t.Error(diff)
	}
	if got := a.Preferred(all, nil, 7); len(got) > 6 || cmp.Diff(all[2:], got) != "" {
		t.Errorf("preferred: %v", got)
	}
	if got := a.Preferred(all, all[:1], 2); len(got) != 2 || got[0] != all[0] {
		t.Errorf("a GPU that the kubelet requires is left out: %v", got)
	}
	docker.set()
	if err := a.SyncLeases(t.Context()); err != nil || len(unhealthy()) > 0 {
		t.Errorf("after the lease: %v, unhealthy: %v", err, unhealthy())
	}
}

// TestSyncLeases: pods from before have leases, and those of pods that have ended are gone.
func TestSyncLeases(t *testing.T) {
	a, node, docker := mixed(t)
	docker.set()
	sync := func(want map[gpu.BDF]string) {
		t.Helper()
		if err := a.SyncLeases(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, docker.ofPods()); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := a.Allocate(uuids(node, 3)); err != nil {
		t.Fatal(err)
	}
	sync(map[gpu.BDF]string{node.GPUs[3].BDF: ""}) // the kubelet has not been asked yet
	old := allocations.Listed{Container: allocations.Container{Namespace: "team", Pod: "old", Name: "main"}, IDs: uuids(node, 0)}
	now := allocations.Listed{Container: allocations.Container{Namespace: "team", Pod: "new", Name: "main"}, IDs: uuids(node, 3)}
	a.State.SetListed([]allocations.Listed{old, now})
	sync(map[gpu.BDF]string{node.GPUs[0].BDF: "team/old/main", node.GPUs[3].BDF: "team/new/main"})
	a.State.SetListed([]allocations.Listed{now})
	sync(map[gpu.BDF]string{node.GPUs[3].BDF: "team/new/main"})
	if outside, err := a.Leases.Outside(); err != nil || len(outside) > 0 {
		t.Errorf("leases of pods count as outside: %v, %v", outside, err)
	}
}
