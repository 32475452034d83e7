package procfs

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// claim is what a client's command line says of its lease.
type claim struct {
	lease string
	gpus  []int // indices
}

const (
	leaseWord = "--label=" + usage.LeaseLabel + "="
	gpusWord  = "--label=" + usage.GPUsLabel + "="
)

// parseClaim finds the labels of a lease in a command line, its words ended by
// NUL. The first of each counts: metax-docker puts them before what a user may
// pass on into the container.
func parseClaim(cmdline []byte) (claim, bool) {
	var c claim
	if !bytes.Contains(cmdline, []byte(leaseWord)) {
		return c, false
	}
	var indices string
	for word := range strings.SplitSeq(string(cmdline), "\x00") {
		if id, ok := strings.CutPrefix(word, leaseWord); ok && c.lease == "" {
			c.lease = id
		} else if text, ok := strings.CutPrefix(word, gpusWord); ok && indices == "" {
			indices = text
		}
	}
	if !usage.ValidID(c.lease) {
		return claim{}, false
	}
	for text := range strings.SplitSeq(indices, ",") {
		index, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return claim{}, false
		}
		c.gpus = append(c.gpus, int(index))
	}
	return c, true
}

// firsts keeps the oldest claimant of each lease: who runs on behalf of a client
// has its command line too. They come ascending by lease.
func firsts(all []usage.Claimant) []usage.Claimant {
	slices.SortFunc(all, func(a, b usage.Claimant) int {
		return cmp.Or(strings.Compare(a.Lease, b.Lease), cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	return slices.CompactFunc(all, func(a, b usage.Claimant) bool { return a.Lease == b.Lease })
}
