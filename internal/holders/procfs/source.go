package procfs

import (
	"context"

	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Sources returns the sources of one round of looks: the processes, the
// containers of Podman and those of CRI-O. They share the round, which the first
// that is asked makes with what it is asked; for another round, ask for other
// sources. The GPUs have these devices.
func (p *Proc) Sources(devices holders.Devices) []Source {
	r := &round{proc: p, devices: devices}
	return []Source{{r, usage.Processes}, {r, podman}, {r, crio}}
}

// Source is the source for open device files, and for clients where the state is
// lost, or the source for the containers of one engine without a daemon.
type Source struct {
	*round
	name string
}

// Name returns the engine or usage.Processes.
func (s Source) Name() (engine, endpoint string) { return s.name, "" }

// Look returns the processes or the containers, with what could be seen also beside
// an error: where some may not be looked into, as those of other users, and with
// usage.ErrUnfinished where the context ended it.
func (s Source) Look(ctx context.Context, q usage.Question) (usage.Sight, error) {
	if s.name == usage.Processes {
		return s.lookAtProcesses(ctx, q)
	}
	return s.lookAtContainers(ctx, q, s.name)
}

// Progress grows while the round goes on.
func (r *round) Progress() uint64 { return r.progress.Load() }

// lookAtProcesses returns the processes that have device files of GPUs open, but for
// our own; where the state is lost it returns the clients instead.
func (r *round) lookAtProcesses(ctx context.Context, q usage.Question) (usage.Sight, error) {
	list := r.roster(ctx, q)
	if q.Lost {
		err := incomplete(list.err, list.hidden, list.refused)
		return usage.Sight{Claimants: list.claimants, Partial: err != nil}, err
	}
	found := r.descriptors(ctx, q)
	err := incomplete(found.err, list.hidden, list.refused+found.refused)
	namespace, _ := r.proc.namespace() // 0 where it is not known
	return usage.Sight{Processes: found.processes, Read: found.read, PIDNamespace: namespace, Partial: err != nil}, err
}
