package assign

import (
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// OwnLabels are the labels that tie a container to its lease. Only this toolkit may
// give them.
var OwnLabels = []string{usage.LeaseLabel, usage.GPUsLabel, usage.SlicesLabel, usage.IDsLabel}

// leaseLabels are the labels of a container with these GPUs under the lease.
func leaseLabels(lease usage.Lease, gpus []gpu.GPU) map[string]string {
	indices := make([]string, len(gpus))
	for i, g := range gpus {
		indices[i] = strconv.Itoa(g.Index)
	}
	all := map[string]string{
		usage.LeaseLabel: lease.ID, usage.GPUsLabel: strings.Join(indices, ","), usage.IDsLabel: strings.Join(usage.IDs(gpus), ","),
	}
	if len(lease.Slices) > 0 {
		all[usage.SlicesLabel] = strings.Join(lease.Slices, ",")
	}
	return all
}

// ownLabels are those of the labels that only this toolkit gives: compose makes a container anew
// if one of them is added or changes.
func ownLabels(all map[string]string) map[string]string {
	own := map[string]string{}
	for _, key := range OwnLabels {
		if value, ok := all[key]; ok {
			own[key] = value
		}
	}
	return own
}
