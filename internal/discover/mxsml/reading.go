// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"context"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Readings queries what each GPU measures now, in the order of addresses. It fails as Read
// does. Values that no GPU can have are missing.
func (r Reader) Readings(ctx context.Context) ([]gpu.Reading, error) {
	a, err := r.queryLibrary(ctx, "readings")
	if err != nil {
		return nil, err
	}
	return a.readings(), nil
}

// readings are those of the devices with an address of their own.
func (a Answer) readings() []gpu.Reading {
	count := map[gpu.BDF]int{}
	var out []gpu.Reading
	for _, r := range a.Readings {
		bdf, err := gpu.ParseBDF(r.BDF)
		if err != nil || bdf == (gpu.BDF{}) {
			continue
		}
		count[bdf]++
		g := gpu.Reading{
			BDF: bdf, UtilizationPercent: scaled(r.UtilizationPercent, 1, 0, 100),
			MemoryUsedMiB:  scaled(r.MemoryUsedKiB, 1<<10, 0, maxMemoryKiB),
			MemoryTotalMiB: scaled(r.MemoryTotalKiB, 1<<10, 1, maxMemoryKiB),
			TemperatureC:   scaled(r.TemperatureCentiC, 100, -100_00, 300_00),
			PowerW:         scaled(r.PowerMilliwatt, 1000, 0, 100_000_000),
			PowerLimitW:    scaled(r.PowerLimit, 1000, 1, 100_000_000),
			LinksUp:        scaled(r.LinksUp, 1, 0, gpu.MaxPorts), ECC: r.ECC,
			Measures: r.Measures, Ports: r.Ports, Slices: r.Slices, Counters: r.Counters,
		}
		g.Check()
		exact(&g.Measures, gpu.UsedKiB, r.MemoryUsedKiB, g.MemoryUsedMiB, 1)
		exact(&g.Measures, gpu.TotalKiB, r.MemoryTotalKiB, g.MemoryTotalMiB, 1)
		exact(&g.Measures, gpu.HotspotC, r.TemperatureCentiC, g.TemperatureC, 100)
		exact(&g.Measures, gpu.Milliwatt, r.PowerMilliwatt, g.PowerW, 1)
		out = append(out, g)
	}
	// It is not known which of two devices with the same address is right.
	out = slices.DeleteFunc(out, func(r gpu.Reading) bool { return count[r.BDF] > 1 })
	slices.SortFunc(out, func(a, b gpu.Reading) int { return a.BDF.Compare(b.BDF) })
	return out
}

// exact sets a measure to a value that is not rounded, if the rounded one is possible.
func exact[T int32 | int64 | uint32](m *gpu.Measures, of gpu.Measure, v *T, rounded *int, per float64) {
	if rounded != nil {
		m.Set(of, float64(*v)/per)
	}
}

// scaled is a value in a unit that is so many times as large, rounded; nil without a value
// or for one out of range.
func scaled[T int | int32 | int64 | uint32](v *T, unit, least, most int64) *int {
	if v == nil || int64(*v) < least || int64(*v) > most {
		return nil
	}
	n := int64(*v) + unit/2
	rounded := int(n / unit)
	if n < 0 && n%unit != 0 {
		rounded--
	}
	return &rounded
}
