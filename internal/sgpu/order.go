// SPDX-License-Identifier: Apache-2.0

package sgpu

import (
	"cmp"
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Order is a request for equal slices of one GPU.
type Order struct {
	mxsml.SliceRequest
	Count int
	// Enable allows switching the GPU to slice mode first.
	Enable bool
}

// RefusedError reports an order that the GPU cannot fulfil as it is.
type RefusedError struct{ error }

func refusef(format string, a ...any) error { return &RefusedError{fmt.Errorf(format, a...)} }

// Fits returns why a GPU cannot have the slices of the order; nil if it can. The slices
// that it has count as far as their sizes are known: the driver decides in the end.
func (o Order) Fits(g gpu.GPU) error {
	count, compute, memory := o.Count, o.Count*o.Compute, o.Count*o.MemoryMiB
	qos := o.QoS
	for _, s := range g.Slices {
		if s.Kind != gpu.SliceSGPU {
			continue
		}
		count, compute, memory = count+1, compute+s.ComputePercent, memory+s.MemoryMiB
		if s.QoS != "" && qos != "" && s.QoS != qos {
			return refusef("all slices of a GPU have one QoS class, and GPU %d has %s: use --qos %[2]s", g.Index, s.QoS)
		}
		if qos == "" {
			qos = s.QoS
		}
	}
	switch {
	case len(g.VFs) > 0:
		return refusef("GPU %d has virtual functions, and a GPU cannot have both those and sGPUs", g.Index)
	case g.Mode != gpu.ModeSGPU && !o.Enable:
		return refusef(
			"GPU %d is not in slice mode; add --enable to switch it (the GPU is then divided into slices and cannot be used whole)", g.Index)
	case !g.Healthy:
		return refusef("GPU %d is unhealthy (metax-ctk device list)", g.Index)
	case count > gpu.MaxSlices:
		return refusef("GPU %d would have %d slices; at most %d", g.Index, count, gpu.MaxSlices)
	case qos == gpu.QoSFixedShare && compute > 100:
		return refusef("the slices of GPU %d would need %d%% of its compute units; with QoS %s at most 100%% can be assigned",
			g.Index, compute, qos)
	case g.MemoryMiB > 0 && memory > g.MemoryMiB:
		return refusef("the slices of GPU %d would have %d MiB of memory; it has %d MiB", g.Index, memory, g.MemoryMiB)
	}
	return nil
}

// Complete adds to new slices what discovery knows of them, such as their device nodes.
func Complete(made, discovered []gpu.Slice) {
	for i, m := range made {
		for _, s := range discovered {
			if s.Kind == m.Kind && s.Index == m.Index && s.UUID == m.UUID {
				made[i] = s
			}
		}
		made[i].ComputePercent = cmp.Or(made[i].ComputePercent, m.ComputePercent)
		made[i].MemoryMiB = cmp.Or(made[i].MemoryMiB, m.MemoryMiB)
	}
}
