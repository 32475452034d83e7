package assign

import (
	"fmt"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// checkGivable reports a GPU that has no device nodes to give, or is given in parts.
func checkGivable(node gpu.Node, g gpu.GPU) error {
	if how, divided := g.Divided(); divided {
		return fmt.Errorf("GPU %d is divided into slices and cannot be used whole (%s): request a slice, --gpus=sgpu:UUID (metax-ctk sgpu list)", g.Index, how)
	}
	if len(g.Nodes) > 0 {
		return nil
	}
	why := discover.NotLoaded(node)
	if why == "" {
		why = reason(node, g, "check its driver") + " (metax-ctk doctor)"
	}
	return fmt.Errorf("GPU %d (%s) has no device nodes, so it cannot be used: %s", g.Index, g.BDF, why)
}

// reason is what discovery had to say of a GPU, or else otherwise.
func reason(node gpu.Node, g gpu.GPU, otherwise string) string {
	for _, line := range node.Warnings {
		if strings.Contains(line, g.BDF.String()) {
			return line
		}
	}
	return otherwise
}

// unhealthyGPUs are the indices of the GPUs that could be given as a whole if they were healthy.
func unhealthyGPUs(node gpu.Node) (indices []int) {
	for _, g := range node.GPUs {
		if _, divided := g.Divided(); !divided && !g.Healthy {
			indices = append(indices, g.Index)
		}
	}
	return indices
}

// whyUnhealthy says why a GPU is unhealthy.
func whyUnhealthy(node gpu.Node, index int) string {
	g := node.GPUs[index]
	why := reason(node, g, fmt.Sprintf("metax-ctk health says why (%s)", g.BDF))
	return fmt.Sprintf("GPU %d is unhealthy: %s", index, strings.TrimPrefix(why, fmt.Sprintf("GPU %s is unhealthy: ", g.BDF)))
}
