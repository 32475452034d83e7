package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/holders/procfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/lease/ledger"
	"github.com/metax-ctk/container-toolkit/internal/usage"
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

// Outside returns the GPUs that others than pods have leases of. Its error is lease.ErrNoState where
// nobody has looked since the boot.
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

// Set makes the leases of pods those of all that pods use. It locks the record only if that changes
// something.
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
