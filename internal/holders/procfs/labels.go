// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// leaseLabels are the labels of a lease in a client's command line.
type leaseLabels struct {
	lease string
	gpus  []int // indices
}

const (
	leaseOption = "--label=" + usage.LeaseLabel + "="
	gpusOption  = "--label=" + usage.GPUsLabel + "="
)

// parseLeaseLabels finds the labels of a lease in a command line, its words ended by
// NUL. The first of each counts: metax-docker puts its own before the user's words.
func parseLeaseLabels(cmdline []byte) (leaseLabels, bool) {
	var labels leaseLabels
	if !bytes.Contains(cmdline, []byte(leaseOption)) {
		return labels, false
	}
	var indices string
	for word := range strings.SplitSeq(string(cmdline), "\x00") {
		if id, ok := strings.CutPrefix(word, leaseOption); ok && labels.lease == "" {
			labels.lease = id
		} else if text, ok := strings.CutPrefix(word, gpusOption); ok && indices == "" {
			indices = text
		}
	}
	if !usage.ValidID(labels.lease) {
		return leaseLabels{}, false
	}
	for text := range strings.SplitSeq(indices, ",") {
		index, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return leaseLabels{}, false
		}
		labels.gpus = append(labels.gpus, int(index))
	}
	return labels, true
}
