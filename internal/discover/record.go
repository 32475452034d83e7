package discover

import (
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// recall returns what of a record still holds on the node as the kernel finds
// it now: a GPU that was unhealthy when it lacked device nodes may be well with
// them.
func recall(record, now gpu.Node) gpu.Node {
	record.GPUs = slices.Clone(record.GPUs)
	for i, then := range record.GPUs {
		if g, ok := now.Lookup(then.BDF); ok && len(then.Nodes) < len(g.Nodes) {
			record.GPUs[i].Healthy = true
		}
	}
	return record
}

// isTold tells whether a record holds anything that only mx-smi can have told.
func isTold(record gpu.Node) bool {
	return len(record.Links) > 0 ||
		slices.ContainsFunc(record.GPUs, func(g gpu.GPU) bool { return g.UUID != "" })
}
