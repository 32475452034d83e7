package procfs

import (
	"cmp"
	"slices"
	"strings"
)

// adopt gives each monitor its container's first process: its oldest child, as
// what a container leaves behind becomes the monitor's child later. Of several
// monitors of one container only the last counts; it comes from the one before,
// which is about to end.
func (w *walk) adopt() {
	if len(w.monitors) == 0 {
		return
	}
	for i := range w.monitors {
		m := &w.monitors[i]
		var oldest uint64
		for _, f := range w.families {
			if f.parent == m.client.PID && (m.init == 0 || f.start < oldest || f.start == oldest && f.pid < m.init) {
				m.init, oldest = f.pid, f.start
			}
		}
	}
	slices.SortFunc(w.monitors, func(a, b monitor) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(b.client.Start, a.client.Start), cmp.Compare(b.client.PID, a.client.PID))
	})
	w.monitors = slices.CompactFunc(w.monitors, func(a, b monitor) bool { return a.id == b.id })
}
