// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/holders/drmclients"
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

// allLists returns the kernel's lists, of the GPUs that have one.
func (r *scan) allLists() map[gpu.BDF]drmclients.List {
	all := map[gpu.BDF]drmclients.List{}
	for bdf, minor := range r.cards {
		if l, err := r.proc.lists.Read(minor); err == nil { // without a list nothing is believed
			all[bdf] = l
		}
	}
	return all
}

// checkLists compares the kernel's lists with the processes that a look found. before are
// those from before the look, which is complete if it saw all processes of the host.
func (r *scan) checkLists(ctx context.Context, before map[gpu.BDF]drmclients.List, found []usage.Process,
	complete bool,
) (lists usage.OpenLists) {
	after := r.allLists()
	for _, bdf := range slices.SortedFunc(maps.Keys(after), gpu.BDF.Compare) {
		l := after[bdf]
		list := usage.OpenList{GPU: bdf, ID: l.ID}
		users := slices.DeleteFunc(slices.Clone(found), func(p usage.Process) bool { return !slices.Contains(p.GPUs, bdf) })
		switch {
		case len(users) > 0 && l.InUse:
			lists.Confirmed = append(lists.Confirmed, list)
		case len(users) > 0 && r.anyHas(ctx, users, bdf):
			lists.Contradicted = true // open before and after the list was read
		case !l.InUse:
			lists.Empty = append(lists.Empty, list)
		case complete && before[bdf] == l:
			lists.Unnamed = append(lists.Unnamed, list)
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
