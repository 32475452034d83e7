package plugin

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
)

// takeTime is how long an answer to the kubelet may wait for the lock of the leases.
const takeTime = 30 * time.Second

// take adds a lease for the devices. If somebody else has one, it is known from then on. The caller
// has taking.
func (a *Allocator) take(ids []string) error {
	s := a.snapshot.Load()
	if s == nil {
		return errNoNode
	}
	if _, err := s.Check(ids); err != nil {
		return err
	}
	request, _ := s.Waiting.Guess(len(ids))
	use := allocations.Listed{Container: request.Container, IDs: slices.Sorted(slices.Values(ids))}
	ctx, cancel := context.WithTimeout(context.Background(), takeTime)
	defer cancel()
	err := a.Leases.Take(ctx, leaseUse(s, use))
	if err != nil {
		a.lookOutside()
	}
	return err
}

// leaseUse is what a container uses, in the terms of leases.
func leaseUse(s *allocate.Snapshot, use allocations.Listed) lease.PodUse {
	u := lease.PodUse{Devices: use.IDs, GPUs: s.GPUs(use.IDs)}
	if use.Pod != "" {
		u.Container = use.Namespace + "/" + use.Pod + "/" + use.Name
	}
	return u
}

// SyncLeases makes the leases of pods those of all that pods use, once the kubelet has said what that
// is, and takes those of others. On a mixed node whose leases are not known, no GPU is free.
func (a *Allocator) SyncLeases(ctx context.Context) error {
	a.taking.Lock()
	defer a.taking.Unlock()
	a.mu.Lock()
	s, known := a.snapshot.Load(), a.listed != nil
	containers := a.state.Uses(a.listed)
	a.mu.Unlock()
	var err error
	if s != nil && known {
		var uses []lease.PodUse
		for _, c := range containers {
			if u := leaseUse(s, c); len(u.GPUs) > 0 {
				uses = append(uses, u)
			}
		}
		err = a.Leases.Set(ctx, uses)
	}
	return errors.Join(err, a.lookOutside())
}

// lookOutside takes the leases of others than pods as they are now.
func (a *Allocator) lookOutside() error {
	uses, err := a.Leases.Outside()
	if err != nil {
		var node gpu.Node
		if s := a.snapshot.Load(); s != nil {
			node = s.Node()
		}
		uses = foreignuse.All(node, err.Error())
	}
	a.SetOutside(uses)
	return err
}
