package node

import (
	"context"
	"fmt"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Health takes one look at the health of the node's GPUs. Of a node that is not this host, it
// is what the Node states.
func (s Selector) Health(ctx context.Context) (health.Look, error) {
	if !s.IsHost() {
		n, err := s.Load(ctx)
		return health.FromNode(n), err
	}
	root, err := hostfs.New(s.Root)
	if err != nil {
		return health.Look{}, err
	}
	return discover.Host{Root: root, Library: s.Library, Run: s.Run}.Health(ctx)
}

// Looker takes looks one after the other, and none of them for longer than Timeout. The
// vendor's software has timeouts of its own and runs in other processes; but a read of sysfs
// can wait in a driver as well, where nothing ends it. A Looker is for one goroutine.
type Looker struct {
	// Take takes one look; a Selector's Health is one.
	Take    func(context.Context) (health.Look, error)
	Timeout time.Duration

	pending chan taken // what a look that is late will give; nil if there is none
}

type taken struct {
	look health.Look
	err  error
}

// Look takes a look. If that is not done within Timeout, it is a failed Look, and the next call
// waits for it instead of starting another.
func (l *Looker) Look(ctx context.Context) (health.Look, error) {
	if l.pending == nil {
		done := make(chan taken, 1)
		l.pending = done
		go func() {
			look, err := l.Take(ctx)
			done <- taken{look, err}
		}()
	}
	late := time.NewTimer(l.Timeout)
	defer late.Stop()
	select {
	case t := <-l.pending:
		l.pending = nil
		return t.look, t.err
	case <-ctx.Done():
		return health.Look{}, fmt.Errorf("look at the GPUs: %w", ctx.Err())
	case <-late.C:
		return health.Look{Failed: fmt.Sprintf("no answer within %s", l.Timeout)}, nil
	}
}
