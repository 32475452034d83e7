package procfs

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// How many work at once: the kernel's locks let no more get ahead. A share of
// processes that is smaller than minShare is not worth another worker.
const (
	maxCrew  = 4
	minShare = 32
)

// worker does a share of a round's work; its buffers serve every process in turn.
type worker struct {
	*round
	ctx   context.Context
	dir   int // open directory of all processes
	text  [16 << 10]byte
	names [16 << 10]byte
	link  [unix.PathMax]byte
	words []byte // a command line
}

// crew calls do for each of the indices below n, with several workers at once where
// there is enough to do. It ends early with the error of the context. What do finds
// out it writes to its own index, so that the result does not depend on the workers.
func (r *round) crew(ctx context.Context, dir, n int, do func(w *worker, i int)) error {
	var next atomic.Int64
	share := func() {
		w := &worker{round: r, ctx: ctx, dir: dir}
		for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			do(w, i)
			r.progress.Add(1)
		}
	}
	var others sync.WaitGroup
	for range min(maxCrew, runtime.GOMAXPROCS(0), n/minShare) - 1 {
		others.Go(share)
	}
	share()
	others.Wait()
	return ctx.Err()
}
