package procfs

import (
	"context"

	"github.com/metax-ctk/container-toolkit/internal/occupancy"
)

// Sources returns the sources of one round of looks: the processes, the
// containers of Podman and those of CRI-O. They share the round, which the first
// that is asked makes with what it is asked; for another round, ask for other
// sources. All of them are occupancy.Progressing.
func (p *Proc) Sources() []occupancy.Source {
	r := &round{proc: p}
	return []occupancy.Source{processes{r}, containers{r, podman}, containers{r, crio}}
}

// Progress grows while the round goes on.
func (r *round) Progress() uint64 { return r.progress.Load() }

// processes is the source for open device files, and for clients where the state
// is lost.
type processes struct{ *round }

func (processes) Name() (engine, endpoint string) { return occupancy.Processes, "" }

// Look returns the processes that have device files of GPUs open, but for our
// own; where the state is lost it returns the clients instead. It fails beside what
// it saw where some processes may not be looked into, as those of other users, and
// with occupancy.ErrUnfinished where the context ended it.
func (s processes) Look(ctx context.Context, q occupancy.Question) (occupancy.Sight, error) {
	list := s.roster(ctx, q)
	if q.Lost {
		err := incomplete(list.err, list.hidden, list.refused)
		return occupancy.Sight{Claimants: list.claimants, Partial: err != nil}, err
	}
	found := s.descriptors(ctx, q)
	err := incomplete(found.err, list.hidden, list.refused+found.refused)
	namespace, _ := s.proc.namespace() // 0 where it is not known
	return occupancy.Sight{Processes: found.processes, Read: found.read, PIDNamespace: namespace, Partial: err != nil}, err
}
