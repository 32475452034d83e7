package gpu

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
}

// ECC counts the memory errors of a GPU since its driver was loaded, and pages of its memory that are not used
// any more because of such errors.
type ECC struct {
	SRAMCorrected   uint32 `json:"sramCorrected"`
	SRAMUncorrected uint32 `json:"sramUncorrected"`
	DRAMCorrected   uint32 `json:"dramCorrected"`
	DRAMUncorrected uint32 `json:"dramUncorrected"`
	RetiredPages    uint32 `json:"retiredPages"`
}
