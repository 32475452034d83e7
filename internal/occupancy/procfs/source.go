package procfs

import (
	"context"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/occupancy"
)

// Sources returns the sources of one round of looks: the processes, the
// containers of Podman and those of CRI-O. They share one walk over all
// processes, which the first that is asked takes with what it is asked; for
// another round, ask for other sources.
func (p *Proc) Sources() []occupancy.Source {
	r := &round{proc: p}
	return []occupancy.Source{processes{r}, containers{r, podman}, containers{r, crio}}
}

// round is the walk that sources share.
type round struct {
	proc  *Proc
	once  sync.Once
	finds finds
}

func (r *round) walk(ctx context.Context, q occupancy.Question) finds {
	r.once.Do(func() { r.finds = r.proc.walk(ctx, q) })
	return r.finds
}

// processes is the source for open device files, and for clients where the state
// is lost.
type processes struct{ round *round }

func (processes) Name() (engine, endpoint string) { return occupancy.Processes, "" }

// Look returns the processes that have device files of GPUs open, but for our
// own. It fails beside what it saw where some processes may not be looked into,
// as those of other users.
func (s processes) Look(ctx context.Context, q occupancy.Question) (occupancy.Sight, error) {
	f := s.round.walk(ctx, q)
	err := f.missed()
	return occupancy.Sight{Processes: f.processes, Claimants: f.claimants, Partial: err != nil}, err
}
