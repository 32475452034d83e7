// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// readLists reads the kernel's lists of all GPUs, if they are those that the question names.
func (r *scan) readLists(named []usage.OpenList) (usage.OpenLists, bool) {
	if len(named) == 0 || len(r.cards) == 0 {
		return usage.OpenLists{}, false
	}
	lists := usage.OpenLists{Instead: true}
	for bdf, minor := range r.cards {
		l, err := r.proc.lists.Read(minor)
		if err != nil || !slices.Contains(named, usage.OpenList{GPU: bdf, ID: l.ID}) {
			return usage.OpenLists{}, false
		}
		if l.InUse {
			lists.InUse = append(lists.InUse, bdf)
		}
	}
	lists.InUse = usage.Sorted(lists.InUse)
	return lists, true
}

// checkLists reads the lists of the GPUs that processes were seen with, and compares them.
func (r *scan) checkLists(ctx context.Context, found []usage.Process) (lists usage.OpenLists) {
	for _, bdf := range slices.SortedFunc(maps.Keys(r.cards), gpu.BDF.Compare) {
		users := slices.DeleteFunc(slices.Clone(found), func(p usage.Process) bool { return !slices.Contains(p.GPUs, bdf) })
		if len(users) == 0 {
			continue
		}
		switch l, err := r.proc.lists.Read(r.cards[bdf]); {
		case err != nil: // without a list nothing is believed
		case l.InUse:
			lists.Confirmed = append(lists.Confirmed, usage.OpenList{GPU: bdf, ID: l.ID})
		case r.anyHas(ctx, users, bdf):
			lists.Contradicted = true // open before and after the list was read
		}
	}
	return lists
}

// anyHas reports whether one of the processes has the GPU open now.
func (r *scan) anyHas(ctx context.Context, users []usage.Process, bdf gpu.BDF) bool {
	dir, err := r.proc.openProc()
	if err != nil {
		return false
	}
	defer closeFD(dir)
	w := &worker{scan: r, ctx: ctx, dir: dir}
	return slices.ContainsFunc(users, func(p usage.Process) bool {
		var found inspection
		w.inspect(process{pid: p.PID, name: strconv.Itoa(p.PID), command: p.Command}, &found, math.MaxInt)
		return slices.Contains(found.gpus, bdf)
	})
}

