package procfs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/occupancy"
)

// How many walk at once: each has its own buffers, and the kernel's locks let no
// more get ahead. A share below this is not worth to be carried to another.
const (
	maxCrew  = 4
	minShare = 32
)

// walk looks at all processes. What it finds does not depend on how many walk:
// with one processor nobody but the caller does.
func (p *Proc) walk(ctx context.Context, q occupancy.Question) finds {
	dir, err := openAt(unix.AT_FDCWD, p.dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return finds{err: fmt.Errorf("open %s: %w", p.dir, err)}
	}
	defer unix.Close(dir)
	pids, err := processNames(dir)
	if err != nil {
		return finds{err: fmt.Errorf("list %s: %w", p.dir, err)}
	}
	hidden := !slices.Contains(pids, "1")
	self, _ := os.Readlink(p.dir + "/self") // without it we are seen as any other
	pids = slices.DeleteFunc(pids, func(name string) bool { return name == self })
	mounts, _ := os.Readlink(p.dir + "/self/ns/mnt") // without it no process is passed over

	crew := make([]*walk, max(1, min(maxCrew, runtime.GOMAXPROCS(0), len(pids)/minShare)))
	var next atomic.Int64
	var others sync.WaitGroup
	for i := range crew {
		w := &walk{ctx: ctx, proc: p, question: q, dir: dir, mounts: mounts}
		crew[i] = w
		if i > 0 {
			others.Go(func() { w.share(pids, &next) })
		}
	}
	crew[0].share(pids, &next)
	others.Wait()
	w := together(crew)
	w.hidden = hidden
	if len(w.monitors) > 0 {
		w.relate(pids)
	}
	w.adopt()
	w.claimants = firsts(w.claimants)
	return w.finds
}

// processNames lists the processes in the open directory, by the names that are
// their pids, ascending as the kernel lists them.
func processNames(dir int) ([]string, error) {
	var pids []string
	err := eachName(dir, make([]byte, 32<<10), func(name string) bool {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, name)
		}
		return true
	})
	slices.SortFunc(pids, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return pids, err
}

// share visits the next of the processes until there are no more.
func (w *walk) share(pids []string, next *atomic.Int64) {
	for w.err == nil {
		i := int(next.Add(1)) - 1
		if i >= len(pids) {
			return
		}
		if pid, err := strconv.Atoi(pids[i]); err == nil {
			w.visit(pid, pids[i])
		}
		w.err = w.ctx.Err()
	}
}

// together puts into the first what all of them found, processes ascending by
// pid; adopt and firsts put the rest into an order.
func together(crew []*walk) *walk {
	all := crew[0]
	for _, w := range crew[1:] {
		all.processes = append(all.processes, w.processes...)
		all.claimants = append(all.claimants, w.claimants...)
		all.monitors = append(all.monitors, w.monitors...)
		all.refused += w.refused
		all.err = cmp.Or(all.err, w.err)
	}
	slices.SortFunc(all.processes, func(a, b occupancy.Process) int { return cmp.Compare(a.PID, b.PID) })
	return all
}
