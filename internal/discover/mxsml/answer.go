package mxsml

// Version is the form of an Answer. It only ever grows.
const Version = "metax-ctk/mxsml/v1"

// What a library may tell at most; more is no answer. The numbers are the
// vendor's own limits.
const (
	MaxDevices = 64 // that are not physical functions beside virtual ones
	MaxPFs     = 16
	// FirstPF is the library's number of the first physical function that is
	// split into virtual ones.
	FirstPF = 100
)

// Answer is what metax-mxsml prints, as the library told it: texts are printable
// ASCII, and nothing else is certain before Decode.
type Answer struct {
	Version string `json:"version"`
	// Driver is the version of the kernel driver, of the first device.
	Driver string `json:"driver,omitempty"`
	// MACA is the version of MXMACA that the library finds.
	MACA    string   `json:"maca,omitempty"`
	Devices []Device `json:"devices,omitempty"`
	Links   []Pair   `json:"links,omitempty"`
	// Slice is what an order to create a slice has made.
	Slice *Slice `json:"slice,omitempty"`
	// Missing are functions that this library does not have, by name.
	Missing  []string `json:"missing,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Failure is why there is no answer; the rest is empty then.
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
	// Limited devices are there and cannot be asked.
	Limited     bool   `json:"limited,omitempty"`
	BoardSerial string `json:"boardSerial,omitempty"`
	ChipSerial  string `json:"chipSerial,omitempty"`
	MemoryKiB   int64  `json:"memoryKiB,omitempty"`
	// Available is nil where the library does not say.
	Available *bool `json:"available,omitempty"`
	// Reason is why the device is not available.
	Reason string `json:"reason,omitempty"`
	// MetaXLink is one of the states in linkStates; empty is not known.
	MetaXLink string `json:"metaXLink,omitempty"`
	// Sliced reports whether the device is given in sGPUs only.
	Sliced bool    `json:"sliced,omitempty"`
	QoS    string  `json:"qos,omitempty"` // one of gpu's, of all slices
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

// Pair is the place of two devices to one another.
type Pair struct {
	A     int `json:"a"` // IDs
	B     int `json:"b"`
	Level int `json:"level"` // the library's number, see levels
}

// Details are what a person may want to know and discovery does not need.
type Details struct {
	Dies  int    `json:"dies,omitempty"`
	ECC   *ECC   `json:"ecc,omitempty"`
	Ports []Port `json:"ports,omitempty"`
}

// ECC counts memory errors since the driver was loaded.
type ECC struct {
	SRAMCorrected   uint32 `json:"sramCorrected"`
	SRAMUncorrected uint32 `json:"sramUncorrected"`
	DRAMCorrected   uint32 `json:"dramCorrected"`
	DRAMUncorrected uint32 `json:"dramUncorrected"`
	RetiredPages    uint32 `json:"retiredPages"`
}

// Port is an end of a MetaXLink.
type Port struct {
	GTps   float32 `json:"gtps"` // GT/s of a lane
	Lanes  uint32  `json:"lanes"`
	Remote string  `json:"remote,omitempty"` // the PCI address at the other end
}
