// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// scan is one look at all processes, which several sources share. It has two passes. The first
// lists the processes; it is short whatever they do, but where leases are lost it waits for
// those that are about to become clients. The second reads what they have open; any user can
// make that long.
type scan struct {
	proc     *Proc
	devices  holders.Devices
	cards    map[gpu.BDF]uint32 // whose lists may be read, by the minor number
	progress atomic.Uint64
	listOnce sync.Once
	list     processList
	openOnce sync.Once
	open     openDevices
}

// cachedProcesses returns the result of the first pass, which the first caller makes.
func (r *scan) cachedProcesses(ctx context.Context, q usage.Question) *processList {
	r.listOnce.Do(func() { r.list = r.listProcesses(ctx, q) })
	return &r.list
}

// cachedOpenDevices returns the result of the second pass, which the first caller makes.
func (r *scan) cachedOpenDevices(ctx context.Context, q usage.Question) *openDevices {
	list := r.cachedProcesses(ctx, q)
	r.openOnce.Do(func() { r.open = r.readDescriptors(ctx, q, list) })
	return &r.open
}

// unfinishedError is the error of a pass that the context ended.
type unfinishedError struct {
	why   string
	cause error // of the context
}

func (e *unfinishedError) Error() string { return usage.ErrUnfinished.Error() + e.why }

func (e *unfinishedError) Unwrap() []error { return []error{usage.ErrUnfinished, e.cause} }

// incompleteError returns why a pass did not see everything, nil if it did: it ended early,
// or this user may not inspect some processes.
func incompleteError(err error, hidden bool, refused int) error {
	switch {
	case err != nil:
		return err
	case hidden:
		return refusal("processes of other users are hidden" + rootHint())
	case refused == 1:
		return refusal("one process could not be inspected" + rootHint())
	case refused > 1:
		return refusal(fmt.Sprintf("%d processes could not be inspected%s", refused, rootHint()))
	}
	return nil
}

// refusal is an fs.ErrPermission in words.
type refusal string

func (e refusal) Error() string { return string(e) }

func (e refusal) Unwrap() error { return fs.ErrPermission }

// rootHint ends the message for a user who was refused.
func rootHint() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return " (run as root to see them)"
}

// minShare is how many processes are worth another worker.
const minShare = 32

// worker does a share of a scan's work; its buffers serve every process in turn.
type worker struct {
	*scan
	ctx     context.Context
	dir     int // open directory of all processes
	text    [16 << 10]byte
	names   [16 << 10]byte
	link    [unix.PathMax]byte
	path    cstring
	cmdline []byte // of maxCommand bytes, made at the first use
}

// inParallel calls do for each index below n, with several workers at once where there
// is enough to do. It ends early with the error of the context. do writes its result to
// its own index, so that the result does not depend on the number of workers.
func (r *scan) inParallel(ctx context.Context, dir, n int, do func(w *worker, i int)) error {
	var next atomic.Int64
	share := func() {
		w := &worker{scan: r, ctx: ctx, dir: dir}
		for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			do(w, i)
			r.progress.Add(1)
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n/minShare) - 1 {
		others.Go(share)
	}
	share()
	others.Wait()
	return ctx.Err()
}
