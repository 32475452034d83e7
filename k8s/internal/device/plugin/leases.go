// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocate"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/allocations"
	"github.com/metax-ctk/container-toolkit/k8s/internal/device/foreignuse"
)

// Leases are those of this host, which the node tool keeps.
type Leases struct {
	record *ledger.Ledger
	proc   *procfs.Proc
	plugin usage.Client // this process
	turn   sync.Mutex   // by takeTurn
}

// OpenLeases returns the leases in a directory of this machine.
func OpenLeases(dir, boot string) (*Leases, error) {
	l := &Leases{record: ledger.New(dir, boot), proc: procfs.New("/proc", -1)}
	l.record.Guest = true
	var err error
	if l.plugin, err = l.proc.Self(); err != nil {
		return nil, fmt.Errorf("find out the start of this process: %w", err)
	}
	return l, nil
}

// Outside returns the GPUs that others than pods have leases of. Its error is lease.ErrNoState
// where nobody has looked since the boot.
func (l *Leases) Outside() ([]foreignuse.Use, error) {
	state, err := l.record.Read()
	if err == nil && state.New {
		err = lease.ErrNoState
	}
	return foreignuse.Of(state.Leases), err
}

// Take adds the lease of a pod that the kubelet gives GPUs to.
func (l *Leases) Take(ctx context.Context, u lease.PodUse) error {
	return l.record.Update(ctx, func(s *lease.State) error { return s.TakePod(u, l.plugin, l.proc.Uptime(), time.Now()) })
}

// errUnchanged keeps the record as it is.
var errUnchanged = errors.New("unchanged")

// Set makes the leases of pods those of all that pods use. It locks the record only if that
// changes something.
func (l *Leases) Set(ctx context.Context, uses []lease.PodUse) error {
	state, err := l.record.Read()
	if err != nil || !l.set(&state, uses) {
		return err
	}
	err = l.record.Update(ctx, func(s *lease.State) error {
		if !l.set(s, uses) {
			return errUnchanged
		}
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// set reports whether it changed the State.
func (l *Leases) set(s *lease.State, uses []lease.PodUse) bool {
	before := slices.Clone(s.Leases)
	s.SetPods(uses, l.plugin, l.proc.Uptime(), time.Now())
	return !reflect.DeepEqual(before, s.Leases)
}

// takeTime is how long an answer to the kubelet may wait for the lock of the leases.
const takeTime = 30 * time.Second

// leaseTurn is the turn of one who makes the leases of a mixed node those of what is given. It
// lasts while the lock of the leases is waited for; no other container is given GPUs
// meanwhile.
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
		_ = t.lookOutside() // where it fails, all GPUs count as in use; sync returns why
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

// sync makes the leases of pods those of all that pods use, once the kubelet has said what
// that is, and takes those of others. On a mixed node whose leases are not known, no GPU is
// free.
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
