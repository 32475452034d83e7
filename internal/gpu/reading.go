// SPDX-License-Identifier: Apache-2.0

package gpu

import "reflect"

// Reading is what a GPU measured at one time. A value that was not reported is nil.
type Reading struct {
	BDF                BDF  `json:"-"`
	UtilizationPercent *int `json:"utilizationPercent,omitempty"`
	MemoryUsedMiB      *int `json:"memoryUsedMiB,omitempty"`
	MemoryTotalMiB     *int `json:"memoryTotalMiB,omitempty"`
	TemperatureC       *int `json:"temperatureC,omitempty"` // of the hottest place
	PowerW             *int `json:"powerW,omitempty"`       // of the board
	PowerLimitW        *int `json:"powerLimitW,omitempty"`
	// LinksUp is how many ports of MetaXLink are trained.
	LinksUp *int `json:"linksUp,omitempty"`
	ECC     *ECC `json:"ecc,omitempty"`
	// Measures are the further values of the GPU, Ports those of each of its ports of
	// MetaXLink, by number, and Slices those of its slices, by index.
	Measures Measures       `json:"measures,omitempty"`
	Ports    []Port         `json:"ports,omitempty"`
	Slices   []SliceReading `json:"slices,omitempty"`
	Counters []Counter      `json:"counters,omitempty"`
}

// idleMemoryMiB is more than the memory in use that idle GPUs report: 666 MiB (N260), 826
// (C500) and 858 (C550), each of 65536.
const idleMemoryMiB = 1024

// Loaded reports whether something runs on the GPU: it has utilisation, or more memory in use
// than an idle GPU, which is at most 1 GiB or, for a GPU of more than 64 GiB, 1/64 of its
// memory. A value that is missing shows no load.
func (r Reading) Loaded() bool {
	if r.UtilizationPercent != nil && *r.UtilizationPercent > 0 {
		return true
	}
	idle := idleMemoryMiB
	if r.MemoryTotalMiB != nil {
		idle = max(idle, *r.MemoryTotalMiB/64)
	}
	return r.MemoryUsedMiB != nil && *r.MemoryUsedMiB > idle
}

// ECC counts the memory errors of a GPU since its driver was loaded, and pages of its memory
// that are not used any more because of such errors.
type ECC struct {
	SRAMCorrected   uint32 `json:"sramCorrected"`
	SRAMUncorrected uint32 `json:"sramUncorrected"`
	DRAMCorrected   uint32 `json:"dramCorrected"`
	DRAMUncorrected uint32 `json:"dramUncorrected"`
	RetiredPages    uint32 `json:"retiredPages"`
}

// IsEmpty reports whether the GPU reported nothing.
func (r Reading) IsEmpty() bool {
	r.BDF = BDF{}
	return reflect.ValueOf(r).IsZero()
}
