package procfs

import (
	"cmp"
	"slices"
	"strings"
)

// family is a process with its parent, to find the children of monitors; the zero
// value is no process.
type family struct {
	pid, parent int
	start       uint64
}

func (w *worker) family(s subject) family {
	if stat, ok := w.stat(s.name); ok && stat.flags&kernelThread == 0 {
		return family{s.pid, stat.parent, stat.start}
	}
	return family{}
}

// adopt gives each monitor its container's first process: its oldest child, as
// what a container leaves behind becomes the monitor's child later. Of several
// monitors of one container only the last counts; it comes from the one before,
// which is about to end.
func (l *roster) adopt(families []family) {
	for i := range l.monitors {
		m := &l.monitors[i]
		var oldest uint64
		for _, f := range families {
			if f.pid != 0 && f.parent == m.client.PID && (m.init == 0 || f.start < oldest || f.start == oldest && f.pid < m.init) {
				m.init, oldest = f.pid, f.start
			}
		}
	}
	slices.SortFunc(l.monitors, func(a, b monitor) int {
		return cmp.Or(strings.Compare(a.id, b.id), cmp.Compare(b.client.Start, a.client.Start), cmp.Compare(b.client.PID, a.client.PID))
	})
	l.monitors = slices.CompactFunc(l.monitors, func(a, b monitor) bool { return a.id == b.id })
}
