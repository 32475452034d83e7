package plugin

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/k8s/internal/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/ledger"
	"github.com/metax-ctk/container-toolkit/k8s/internal/outside"
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
	e := ledger.Entry{IDs: slices.Sorted(slices.Values(ids))}
	if request, ok := s.Waiting.Guess(len(ids)); ok {
		e.For = &request.Container
	}
	ctx, cancel := context.WithTimeout(context.Background(), takeTime)
	defer cancel()
	err := a.Leases.Take(ctx, useOf(s, e))
	if err != nil {
		a.lookOutside()
	}
	return err
}

// useOf is an Entry in the terms of leases.
func useOf(s *allocate.Snapshot, e ledger.Entry) lease.PodUse {
	u := lease.PodUse{Devices: e.IDs, GPUs: s.GPUs(e.IDs)}
	if e.For != nil {
		u.Container = e.For.Namespace + "/" + e.For.Pod + "/" + e.For.Name
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
	entries := a.state.Uses(a.listed)
	a.mu.Unlock()
	var err error
	if s != nil && known {
		var uses []lease.PodUse
		for _, e := range entries {
			if u := useOf(s, e); len(u.GPUs) > 0 {
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
		uses = outside.All(node, err.Error())
	}
	a.SetOutside(uses)
	return err
}
