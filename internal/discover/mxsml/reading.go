package mxsml

import (
	"context"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Readings queries what each GPU measures now, in the order of addresses. It fails as Read
// does. Values that no GPU can have are missing.
func (r Reader) Readings(ctx context.Context) ([]gpu.Reading, error) {
	a, err := r.query(ctx, "readings")
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
			MemoryUsedMiB: scaled(r.MemoryUsedKiB, 1<<10, 0, maxMemoryKiB), MemoryTotalMiB: scaled(r.MemoryTotalKiB, 1<<10, 1, maxMemoryKiB),
			TemperatureC: scaled(r.TemperatureCentiC, 100, -100_00, 300_00),
			PowerW:       scaled(r.PowerMilliwatt, 1000, 0, 100_000_000), PowerLimitW: scaled(r.PowerLimit, 1000, 1, 100_000_000),
			LinksUp: scaled(r.LinksUp, 1, 0, maxPorts), ECC: r.ECC,
		}
		out = append(out, g)
	}
	// It is not known which of two devices with the same address is right.
	out = slices.DeleteFunc(out, func(r gpu.Reading) bool { return count[r.BDF] > 1 })
	slices.SortFunc(out, func(a, b gpu.Reading) int { return a.BDF.Compare(b.BDF) })
	return out
}

// maxPorts is more ports of MetaXLink than any GPU has.
const maxPorts = 64

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
