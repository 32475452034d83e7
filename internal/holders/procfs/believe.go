package procfs

import (
	"os"
	"slices"
)

// believed reports whether what a process says of itself counts: it is root's or
// our own, or its user may take leases anyway.
func (p *Proc) believed(s status) bool {
	return s.uid == 0 || s.uid == uint32(os.Getuid()) ||
		p.group >= 0 && slices.Contains(s.groups, uint32(p.group))
}
