// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Measure names a quantity of which a GPU, a port of MetaXLink or a slice measures one value.
// The name ends in the unit, which is the vendor's: KiB are 1024 bytes, MBps are MB/s, GTps
// are GT/s of a lane.
type Measure string

// The measures of a GPU.
const (
	UsedKiB        Measure = "memoryUsedKiB"
	TotalKiB       Measure = "memoryTotalKiB"
	SystemUsedKiB  Measure = "systemMemoryUsedKiB" // of the host's memory, which the GPU may use
	SystemTotalKiB Measure = "systemMemoryTotalKiB"
	Milliwatt      Measure = "powerMilliwatt"
	HotspotC       Measure = "hotspotC"
	HBMC           Measure = "hbmC"
	BoardC         Measure = "boardC" // of the voltage regulators of the compute units
	EncoderPercent Measure = "encoderPercent"
	DecoderPercent Measure = "decoderPercent"
	ClockMHz       Measure = "clockMHz" // of the compute units
	MemoryClockMHz Measure = "memoryClockMHz"
	EncoderMHz     Measure = "encoderClockMHz"
	DecoderMHz     Measure = "decoderClockMHz"
	// ThrottleReasons are bits, each of which is a reason why clocks are lower than they could
	// be; 0 if none is. What each bit means is not published.
	ThrottleReasons Measure = "throttleReasons"
	DPMLevel        Measure = "dpmLevel" // of the compute units; higher is faster
	PCIeGTps        Measure = "pcieGTps"
	PCIeLanes       Measure = "pcieLanes"
	PCIeMaxGTps     Measure = "pcieMaxGTps" // that the GPU and the bridge above it can have
	PCIeMaxLanes    Measure = "pcieMaxLanes"
	PCIeTxMBps      Measure = "pcieTxMBps"
	PCIeRxMBps      Measure = "pcieRxMBps"
	EthTxMBps       Measure = "ethernetTxMBps"
	EthRxMBps       Measure = "ethernetRxMBps"
	WiringID        Measure = "wiring" // the vendor's number of how MetaXLink is wired
	SocketID        Measure = "socket" // the GPU's place in that
)

// The measures of a port of MetaXLink. Errors are those that PCIe calls AER.
const (
	PortGTps        Measure = "gtps"
	PortLanes       Measure = "lanes"
	PortTxMBps      Measure = "txMBps"
	PortRxMBps      Measure = "rxMBps"
	PortTxBytes     Measure = "txBytes" // since the driver was loaded
	PortRxBytes     Measure = "rxBytes"
	PortCorrected   Measure = "correctedErrors"
	PortUncorrected Measure = "uncorrectedErrors"
)

// SlicePercent is how much of its share of the GPU a slice uses; a slice also has UsedKiB and
// TotalKiB.
const SlicePercent Measure = "utilizationPercent"

// most is the greatest value that a measure can have; others have none that is known.
var most = map[Measure]float64{
	EncoderPercent: 100, DecoderPercent: 100, SlicePercent: 100, HotspotC: 300, HBMC: 300, BoardC: 300,
	PCIeLanes: 64, PCIeMaxLanes: 64, PortLanes: 64,
}

// Measures are values by what they measure; what was not reported is not there.
type Measures map[Measure]float64

// Set sets a value, unless there is one already, or nothing can have it: one below 0 (a
// temperature: -100), or too large.
func (m *Measures) Set(of Measure, value float64) {
	if _, there := (*m)[of]; there || !of.isPossible(value) {
		return
	}
	if *m == nil {
		*m = Measures{}
	}
	(*m)[of] = value
}

// ClockText is the clock of the compute units, with the driver's reasons, as bits, for which
// it is lower than it could be; "-" if it was not reported.
func (m Measures) ClockText() string {
	mhz, known := m[ClockMHz]
	if !known {
		return "-"
	}
	text := fmt.Sprintf("%.0f MHz", mhz)
	if reasons := m[ThrottleReasons]; reasons != 0 {
		text += fmt.Sprintf(" (0x%x)", uint64(reasons))
	}
	return text
}

func (of Measure) isPossible(value float64) bool {
	least, top := 0.0, float64(1<<63)
	if strings.HasSuffix(string(of), "C") {
		least = -100
	}
	if bound, ok := most[of]; ok {
		top = bound
	}
	return value >= least && value <= top // false for NaN
}

// Port is what a port of MetaXLink measures.
type Port struct {
	Number   int      `json:"port"` // from 1
	Measures Measures `json:"measures,omitempty"`
}

// MaxPorts is how many ports of MetaXLink a GPU has at most.
const MaxPorts = 16

// SliceReading is what a slice measures.
type SliceReading struct {
	Index    int      `json:"index"`           // as in Slice
	Minor    *int     `json:"minor,omitempty"` // of its device
	Measures Measures `json:"measures,omitempty"`
}

// The kinds of a Counter.
const (
	CountRAS  = "ras"      // errors of a part; Type is corrected or uncorrected, Name the part's register
	RASStatus = "status"   // content of a part's status register; Name is the register
	CountPCI  = "pci"      // events of PCIe; Type is one of PCITypes, Name the event
	OpticalC  = "opticalC" // temperature of an optical module; Name is its number
)

// The kinds of what the driver wrote to the kernel's log in this boot.
const (
	CountLog = "log" // messages; Type is ERROR or ALERT, Name the driver's module
	LogEID   = "eid" // the number of an error; Type is driver, Name its text
)

// The types of CountRAS.
const (
	Corrected   = "corrected"
	Uncorrected = "uncorrected"
)

// PCITypes are the vendor's words for the types of PCI events, by its number.
var PCITypes = []string{"aer_ue", "aer_ce", "synfld", "dbe", "mmio"}

// Counter is a value of something whose name only the driver knows.
type Counter struct {
	Kind  string  `json:"kind"`
	Type  string  `json:"type,omitempty"`
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// MaxCounters is how many Counters of a GPU count. The vendor's library has room for 128
// registers of either kind, and 32 PCI events of a type.
const MaxCounters = 512

// Check removes what no GPU has: impossible values, ports and slices that do not exist or
// occur twice, names that cannot be printed, and what is beyond the limits. It sorts ports,
// slices and counters.
func (r *Reading) Check() {
	from := *r
	r.Measures, r.Ports, r.Slices, r.Counters = nil, nil, nil, nil
	r.Measures.setAll(from.Measures)
	for _, p := range from.Ports {
		if to := r.PortOf(p.Number); to != nil {
			to.Measures.setAll(p.Measures)
		}
	}
	for _, s := range from.Slices {
		if to := r.SliceOf(s.Index); to != nil {
			to.Measures.setAll(s.Measures)
			if s.Minor != nil && *s.Minor >= 0 {
				to.Minor = s.Minor
			}
		}
	}
	r.Ports = slices.DeleteFunc(r.Ports, func(p Port) bool { return len(p.Measures) == 0 })
	r.Slices = slices.DeleteFunc(r.Slices, func(s SliceReading) bool { return len(s.Measures) == 0 && s.Minor == nil })
	slices.SortFunc(r.Ports, func(a, b Port) int { return a.Number - b.Number })
	slices.SortFunc(r.Slices, func(a, b SliceReading) int { return a.Index - b.Index })
	r.Counters = slices.DeleteFunc(slices.Clone(from.Counters), func(c Counter) bool {
		return !isWord(c.Kind) || (c.Type != "" && !isWord(c.Type)) || !isWord(c.Name) || !Measure(c.Kind).isPossible(c.Value)
	})
	slices.SortStableFunc(r.Counters, Counter.compare)
	r.Counters = slices.CompactFunc(r.Counters, func(a, b Counter) bool { return a.compare(b) == 0 })
	r.Ports, r.Slices, r.Counters = orNil(r.Ports), orNil(r.Slices), orNil(r.Counters[:min(len(r.Counters), MaxCounters)])
}

// orNil is nil for a list without items.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

func (m *Measures) setAll(from Measures) {
	for of, value := range from {
		m.Set(of, value)
	}
}

func (c Counter) compare(d Counter) int {
	return cmp.Or(strings.Compare(c.Kind, d.Kind), strings.Compare(c.Type, d.Type), strings.Compare(c.Name, d.Name))
}

// isWord reports whether s is a short text of printable ASCII.
func isWord(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// PortOf returns the port with the number, which it adds if need be; nil for one that no GPU
// has.
func (r *Reading) PortOf(number int) *Port {
	if number < 1 || number > MaxPorts {
		return nil
	}
	for i := range r.Ports {
		if r.Ports[i].Number == number {
			return &r.Ports[i]
		}
	}
	r.Ports = append(r.Ports, Port{Number: number})
	return &r.Ports[len(r.Ports)-1]
}

// SliceOf returns the reading of the slice with the index, which it adds if need be; nil for
// one that no GPU has.
func (r *Reading) SliceOf(index int) *SliceReading {
	if index < 0 || index >= MaxSlices {
		return nil
	}
	for i := range r.Slices {
		if r.Slices[i].Index == index {
			return &r.Slices[i]
		}
	}
	r.Slices = append(r.Slices, SliceReading{Index: index})
	return &r.Slices[len(r.Slices)-1]
}
