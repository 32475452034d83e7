// SPDX-License-Identifier: Apache-2.0

package mxsml

import "github.com/metax-ctk/container-toolkit/internal/gpu"

// Version is the format of an Answer. Fields are added to it, never removed.
const Version = "metax-ctk/mxsml/v1"

// Limits of an Answer, which are the vendor's own limits. An answer with more is
// rejected.
const (
	MaxDevices = 64 // without physical functions that are split into virtual ones
	MaxPFs     = 16
	// FirstPF is the library's number of the first physical function that is split into
	// virtual ones.
	FirstPF = 100
)

// Answer is the output of metax-mxsml: the values that the library returned. Texts are
// printable ASCII; everything else is unchecked before Decode.
type Answer struct {
	Version string `json:"version"`
	// Driver is the version of the kernel driver, of the first device.
	Driver string `json:"driver,omitempty"`
	// MACA is the version of MXMACA that the library reports.
	MACA    string   `json:"maca,omitempty"`
	Devices []Device `json:"devices,omitempty"`
	Links   []Pair   `json:"links,omitempty"`
	// Readings are what the devices measure now.
	Readings []Reading `json:"readings,omitempty"`
	// Slice is the slice that was created.
	Slice *Slice `json:"slice,omitempty"`
	// Missing are the names of functions that this library lacks.
	Missing  []string `json:"missing,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Failure is the reason why there is no answer; the other fields are empty then.
	Failure *Failure `json:"failure,omitempty"`
}

// The modes of a Device.
const (
	ModeNative = "native" // not virtualized
	ModePF     = "pf"     // split into virtual functions
	ModeVF     = "vf"     // one of those
)

// Device is a GPU, or a virtual function of one.
type Device struct {
	// ID is the library's number, FirstPF and up for a physical function.
	ID   int    `json:"id"`
	BDF  string `json:"bdf"`
	UUID string `json:"uuid,omitempty"`
	Name string `json:"name,omitempty"` // "MXC500"
	Mode string `json:"mode,omitempty"`
	// Limited reports whether the device exists but only its address and model are known,
	// because the driver does not serve it.
	Limited     bool   `json:"limited,omitempty"`
	BoardSerial string `json:"boardSerial,omitempty"`
	ChipSerial  string `json:"chipSerial,omitempty"`
	MemoryKiB   int64  `json:"memoryKiB,omitempty"`
	// Available is nil if the library does not report it.
	Available *bool `json:"available,omitempty"`
	// Reason is why the device is not available, Code the library's number of it; 0 if
	// unknown.
	Reason string `json:"reason,omitempty"`
	Code   int    `json:"code,omitempty"`
	// BIOS is the version of its VBIOS.
	BIOS string `json:"bios,omitempty"`
	// SRIOV is whether its VBIOS supports virtual functions; nil if the library does not
	// report it.
	SRIOV *bool `json:"sriov,omitempty"`
	// MetaXLink is one of the states in linkStates; empty if unknown.
	MetaXLink string `json:"metaXLink,omitempty"`
	// Sliced reports whether the device is in slice mode.
	Sliced bool    `json:"sliced,omitempty"`
	QoS    string  `json:"qos,omitempty"` // one of gpu.QoSClasses, the same for all slices
	Slices []Slice `json:"slices,omitempty"`
	// VFs are the IDs of its virtual functions.
	VFs     []int    `json:"vfs,omitempty"`
	Details *Details `json:"details,omitempty"`
}

// Slice is an sGPU.
type Slice struct {
	Index          int    `json:"index"`
	UUID           string `json:"uuid,omitempty"`
	Alias          string `json:"alias,omitempty"`
	ComputePercent int    `json:"computePercent"`
	MemoryMiB      int    `json:"memoryMiB"`
	QoS            string `json:"qos,omitempty"`
}

// Pair is the topological level of two devices.
type Pair struct {
	A     int `json:"a"` // IDs
	B     int `json:"b"`
	Level int `json:"level"` // the library's number, see levels
}

// Details are facts that discovery does not need.
type Details struct {
	Dies  int      `json:"dies,omitempty"`
	ECC   *gpu.ECC `json:"ecc,omitempty"`
	Ports []Port   `json:"ports,omitempty"`
}

// Port is an end of a MetaXLink.
type Port struct {
	GTps   float32 `json:"gtps"` // GT/s of a lane
	Lanes  uint32  `json:"lanes"`
	Remote string  `json:"remote,omitempty"` // the PCI address at the other end
}

// Reading is what a device measures now, in the library's units. What the library does not
// report is nil.
type Reading struct {
	BDF                string   `json:"bdf"`
	UtilizationPercent *int32   `json:"utilizationPercent,omitempty"`
	MemoryUsedKiB      *int64   `json:"memoryUsedKiB,omitempty"`
	MemoryTotalKiB     *int64   `json:"memoryTotalKiB,omitempty"`
	TemperatureCentiC  *int32   `json:"temperatureCentiC,omitempty"` // hundredths of a degree
	PowerMilliwatt     *uint32  `json:"powerMilliwatt,omitempty"`
	PowerLimit         *uint32  `json:"powerLimitMilliwatt,omitempty"`
	LinksUp            *int     `json:"linksUp,omitempty"`
	ECC                *gpu.ECC `json:"ecc,omitempty"`
	// Of these, Decode does not check anything; gpu.Reading.Check does.
	Measures gpu.Measures       `json:"measures,omitempty"`
	Ports    []gpu.Port         `json:"ports,omitempty"`
	Slices   []gpu.SliceReading `json:"slices,omitempty"`
	Counters []gpu.Counter      `json:"counters,omitempty"`
}
