package library

// The sizes of the library's buffers, in bytes.
const (
	bdfSize       = 32
	uuidSize      = 96
	nameSize      = 32
	serialSize    = 32
	versionSize   = 64
	aliasSize     = 32
	reasonSize    = 64
	linkStateSize = 128
	linkCount     = 7
	vfCount       = 128
)

// Constants of the library's interface.
const (
	versionBIOS   = 0 // MXSML_Version_Bios
	versionDriver = 1 // MXSML_Version_Driver
	modePF        = 1 // MXSML_Virtualization_Mode_Pf
	modeVF        = 2 // MXSML_Virtualization_Mode_Vf
	brandN        = 1 // MXSML_Brand_N
	usageDLA      = 0 // MXSML_Usage_Dla, of the N series
	usageXCore    = 4 // MXSML_Usage_Xcore, of the C series
	hotspot       = 0 // MXSML_Temperature_Hotspot
	noDevice      = 2 // MXSML_NoDevice
)

// deviceInfo is mxSmlDeviceInfo_t, 184 bytes.
type deviceInfo struct {
	DeviceID uint32
	Kind     uint32 // deprecated
	BDF      [bdfSize]byte
	GPUID    uint32
	NodeID   uint32
	UUID     [uuidSize]byte
	Brand    uint32
	Mode     uint32 // 0, modePF, modeVF
	Name     [nameSize]byte
}

// virtualIDs is mxSmlVirtualDeviceIds_t, 516 bytes.
type virtualIDs struct {
	Number int32
	ID     [vfCount]int32
}

// memoryInfo is mxSmlMemoryInfo_t, 48 bytes; in KB, which are 1024 bytes. The C
// type is long.
type memoryInfo struct {
	VisVRAMTotal, VisVRAMUsed int64
	VRAMTotal, VRAMUsed       int64
	XTTTotal, XTTUsed         int64
}

// linkInfo is mxSmlMetaXLinkInfo_t, 56 bytes.
type linkInfo struct {
	Speed [linkCount]float32 // GT/s
	Width [linkCount]uint32  // lanes
}

// linkRemote is mxSmlMetaXLinkRemoteInfo_t, 36 bytes.
type linkRemote struct {
	DeviceID int32
	BDF      [bdfSize]byte
}

// sgpuInfo is mxSmlSgpuInfo_t, 124 bytes. mxExporter's bindings give the UUID 94
// bytes, which makes the same size.
type sgpuInfo struct {
	Parent              uint32
	ID                  uint32
	VRAMQuota           uint32 // MB of 1024 * 1024 bytes
	SoftQueuePriority   uint32
	ComputeQuota        uint32 // percent
	Minor               uint32
	DeviceQueuePriority uint32
	UUID                [uuidSize]byte
}

// sgpuMemory is mxSmlSgpuMemoryInfo_t, 24 bytes; in bytes. The C type is long.
type sgpuMemory struct{ Total, Used, Free int64 }

// eccCount is mxSmlEccErrorCount_t, 20 bytes.
type eccCount struct {
	SRAMCorrected, SRAMUncorrected uint32
	DRAMCorrected, DRAMUncorrected uint32
	RetiredPages                   uint32
}

// unavailable is mxSmlDeviceUnavailableReasonInfo_t, 68 bytes.
type unavailable struct {
	Code   int32
	Reason [reasonSize]byte
}

// electricInfo is mxSmlBoardWayElectricInfo_t, 12 bytes: one way of the board's power.
type electricInfo struct {
	Voltage uint32 // mV
	Current uint32 // mA
	Power   uint32 // mW
}

// powerWays has room for more ways than boards have: two of the N series, three of the
// C series.
type powerWays [16]electricInfo

// required is how many of the functions, from the first, the library must have.
const required = 3

// functions are the library's functions by their C names; nil if the library lacks one.
// Their results are error codes, except for counts. All C enumerations are 32 bits
// wide.
type functions struct {
	Init        func() uint32                                `c:"mxSmlInit"`
	DeviceCount func() uint32                                `c:"mxSmlGetDeviceCount"`
	DeviceInfo  func(device uint32, info *deviceInfo) uint32 `c:"mxSmlGetDeviceInfo"`

	ErrorString   func(code uint32) *byte                                             `c:"mxSmlGetErrorString"`
	PFCount       func() uint32                                                       `c:"mxSmlGetPfDeviceCount"`
	AllLimited    func(ids *virtualIDs) uint32                                        `c:"mxSmlGetAllLimitedDevices"`
	LimitedInfo   func(device uint32, info *deviceInfo) uint32                        `c:"mxSmlGetLimitedDeviceInfo"`
	VFs           func(device uint32, ids *virtualIDs) uint32                         `c:"mxSmlGetVirtualDevicesByPhysicalId"`
	MacaVersion   func(text *byte, size *uint32) uint32                               `c:"mxSmlGetMacaVersion"`
	DeviceVersion func(device, unit uint32, text *byte, size *uint32) uint32          `c:"mxSmlGetDeviceVersion"`
	BoardSerial   func(device uint32, text *byte, size *uint32) uint32                `c:"mxSmlGetBoardSerial"`
	ChipSerial    func(device uint32, text *byte, size *uint32) uint32                `c:"mxSmlGetChipSerial"`
	Memory        func(device uint32, memory *memoryInfo) uint32                      `c:"mxSmlGetMemoryInfo"`
	State         func(device uint32, state *int32) uint32                            `c:"mxSmlGetDeviceState"` // 1 is available
	SRIOV         func(device uint32, supported *uint32) uint32                       `c:"mxSmlGetSriovState"`
	Unavailable   func(device uint32, reason *unavailable) uint32                     `c:"mxSmlGetDeviceUnavailableReason"`
	Topology      func(a, b uint32, level *uint32) uint32                             `c:"mxSmlGetDeviceTopology"`
	LinkState     func(device uint32, state *uint32, text *byte, size *uint32) uint32 `c:"mxSmlGetMetaXLinkState"`

	Usage       func(device, unit uint32, percent *int32) uint32              `c:"mxSmlGetDeviceIpUsage"`
	Temperature func(device, sensor uint32, hundredths *int32) uint32         `c:"mxSmlGetTemperatureInfo"`
	Power       func(device uint32, count *uint32, ways *electricInfo) uint32 `c:"mxSmlGetBoardPowerInfo"`
	PowerLimit  func(device uint32, milliwatt *uint32) uint32                 `c:"mxSmlGetBoardPowerLimit"`

	DieCount   func(device uint32, count *uint32) uint32            `c:"mxSmlGetDeviceDieCount"`
	ECC        func(device uint32, count *eccCount) uint32          `c:"mxSmlGetTotalEccErrors"`
	LinkInfo   func(device uint32, info *linkInfo) uint32           `c:"mxSmlGetMetaXLinkInfo"`
	LinkRemote func(device, port uint32, remote *linkRemote) uint32 `c:"mxSmlGetMetaXLinkRemoteInfo"` // ports count from 1

	SGPUToggle    func(device uint32, on *uint32) uint32                     `c:"mxSmlGetSgpuToggle"`
	SetSGPUToggle func(device, on uint32) uint32                             `c:"mxSmlSetSgpuToggle"`
	SGPUCount     func(device uint32) uint32                                 `c:"mxSmlGetSgpuCount"`
	SGPUInfo      func(device, sgpu uint32, info *sgpuInfo) uint32           `c:"mxSmlGetSgpuInfo"`
	SGPUAlias     func(device, sgpu uint32, text *byte, size *uint32) uint32 `c:"mxSmlGetSgpuAlias"`
	SGPUMemory    func(device, sgpu uint32, memory *sgpuMemory) uint32       `c:"mxSmlGetSgpuMemory"`
	SchedClass    func(device uint32, class *uint32) uint32                  `c:"mxSmlGetDeviceSchedClass"`
	SetSchedClass func(device, class uint32) uint32                          `c:"mxSmlSetDeviceSchedClass"`
	CreateSGPU    func(device, mib, percent uint32, sgpu *uint32) uint32     `c:"mxSmlCreateSgpu"`
	RemoveSGPU    func(device, sgpu uint32) uint32                           `c:"mxSmlRemoveSgpu"`
	SetSGPUAlias  func(device, sgpu uint32, text *byte) uint32               `c:"mxSmlSetSgpuAlias"`
}
