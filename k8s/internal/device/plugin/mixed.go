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

// leaseTurn is the turn of one who makes the leases of a mixed node those of what is given. It lasts while the lock
// of the leases is waited for; no other container is given GPUs meanwhile.
type leaseTurn struct {
	leases *Leases
	state  *NodeState
}

func (l *Leases) takeTurn(state *NodeState) leaseTurn {
	l.turn.Lock()
	return leaseTurn{l, state}
}

func (t leaseTurn) end() { t.leases.turn.Unlock() }

// lease adds a lease for devices. If somebody else has one, it is known from then on.
func (t leaseTurn) lease(ids []string) error {
	s := t.state.view().snapshot
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
	err := t.leases.Take(ctx, leaseUse(s, use))
	if err != nil {
		t.lookOutside()
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

// sync makes the leases of pods those of all that pods use, once the kubelet has said what that
// is, and takes those of others. On a mixed node whose leases are not known, no GPU is free.
func (t leaseTurn) sync(ctx context.Context) error {
	v := t.state.view()
	var err error
	if v.snapshot != nil && v.listed != nil {
		var uses []lease.PodUse
		for _, c := range v.record.Uses(v.listed) {
			if u := leaseUse(v.snapshot, c); len(u.GPUs) > 0 {
				uses = append(uses, u)
			}
		}
		err = t.leases.Set(ctx, uses)
	}
	return errors.Join(err, t.lookOutside())
}

// lookOutside takes the leases of others than pods as they are now.
func (t leaseTurn) lookOutside() error {
	uses, err := t.leases.Outside()
	if err != nil {
		var node gpu.Node
		if s := t.state.view().snapshot; s != nil {
			node = s.Node()
		}
		uses = foreignuse.All(node, err.Error())
	}
	t.state.SetOutside(uses)
	return err
}
