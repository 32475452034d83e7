// SPDX-License-Identifier: Apache-2.0

package sgpu

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// TestFits holds what is refused before anything is changed.
func TestFits(t *testing.T) {
	part := func(compute, memory int, qos string) gpu.Slice {
		return gpu.Slice{Kind: gpu.SliceSGPU, ComputePercent: compute, MemoryMiB: memory, QoS: qos}
	}
	order := func(count, compute, memory int, qos string) Order {
		return Order{SliceRequest: mxsml.SliceRequest{Compute: compute, MemoryMiB: memory, QoS: qos}, Count: count}
	}
	cut := func(parts ...gpu.Slice) gpu.GPU {
		return gpu.GPU{Healthy: true, Mode: gpu.ModeSGPU, MemoryMiB: 1000, Slices: parts}
	}
	sick := cut()
	sick.Healthy = false
	for name, tc := range map[string]struct {
		gpu   gpu.GPU
		order Order
		says  string // empty: it fits
	}{
		"exactly":                         {cut(part(50, 500, "fixed-share")), order(1, 50, 500, "fixed-share"), ""},
		"compute, fixed":                  {cut(part(50, 500, "fixed-share")), order(1, 51, 500, "fixed-share"), "101% of its compute"},
		"compute, fixed as it is":         {cut(part(50, 500, "fixed-share")), order(1, 51, 500, ""), "101% of its compute"},
		"compute, fixed, several":         {cut(), order(3, 40, 100, "fixed-share"), "120% of its compute"},
		"compute, shared":                 {cut(part(50, 500, "best-effort")), order(2, 100, 250, "best-effort"), ""},
		"memory":                          {cut(part(50, 500, "best-effort")), order(1, 10, 501, ""), "1001 MiB of memory; it has 1000 MiB"},
		"memory, several":                 {cut(), order(3, 10, 400, ""), "1200 MiB"},
		"sizes that are not known":        {cut(part(0, 0, "")), order(1, 100, 1000, "fixed-share"), ""},
		"another class":                   {cut(part(1, 1, "burst-share")), order(1, 1, 1, "best-effort"), "one QoS class, and GPU 0 has burst-share: use --qos burst-share"},
		"the sixteenth":                   {cut(slices.Repeat([]gpu.Slice{part(1, 1, "")}, 15)...), order(1, 1, 1, ""), ""},
		"the seventeenth":                 {cut(slices.Repeat([]gpu.Slice{part(1, 1, "")}, 15)...), order(2, 1, 1, ""), "would have 17 slices; at most 16"},
		"virtual functions":               {gpu.GPU{Healthy: true, VFs: []gpu.BDF{{Bus: 1}}}, order(1, 1, 1, ""), "has virtual functions"},
		"virtual functions do not count":  {gpu.GPU{Healthy: true, Mode: gpu.ModeSGPU, Slices: []gpu.Slice{{Kind: gpu.SliceVF, MemoryMiB: 900, QoS: "x"}}, MemoryMiB: 1000}, order(1, 1, 200, "best-effort"), ""},
		"whole":                           {gpu.GPU{Healthy: true}, order(1, 1, 1, ""), "not in slice mode"},
		"unavailable":                     {sick, order(1, 1, 1, ""), "is unhealthy"},
		"memory of a GPU that is unknown": {gpu.GPU{Healthy: true, Mode: gpu.ModeSGPU}, order(1, 1, 1<<20, ""), ""},
	} {
		err := tc.order.Fits(tc.gpu)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) || !errors.As(err, new(*RefusedError))) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
	}
	enabling := order(1, 1, 1, "")
	enabling.Enable = true
	if err := enabling.Fits(gpu.GPU{Healthy: true}); err != nil {
		t.Errorf("whole, to be enabled: %v", err)
	}
}
