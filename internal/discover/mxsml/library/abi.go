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

// Numbers that the library takes or gives.
const (
	versionDriver = 1 // MXSML_Version_Driver
	modePF        = 1 // MXSML_Virtualization_Mode_Pf
	modeVF        = 2 // MXSML_Virtualization_Mode_Vf
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

// functions are those of the library, nil where it has none. The results are
// codes but for the counts. All C enumerations are 32 bits wide.
type functions struct {
	Init        func() uint32
	DeviceCount func() uint32
	DeviceInfo  func(device uint32, info *deviceInfo) uint32

	ErrorString   func(code uint32) *byte
	PFCount       func() uint32
	LimitedInfo   func(device uint32, info *deviceInfo) uint32
	VFs           func(device uint32, ids *virtualIDs) uint32
	MacaVersion   func(text *byte, size *uint32) uint32
	DeviceVersion func(device, unit uint32, text *byte, size *uint32) uint32
	BoardSerial   func(device uint32, text *byte, size *uint32) uint32
	ChipSerial    func(device uint32, text *byte, size *uint32) uint32
	Memory        func(device uint32, memory *memoryInfo) uint32
	State         func(device uint32, state *int32) uint32 // 1 is available
	Unavailable   func(device uint32, reason *unavailable) uint32
	Topology      func(a, b uint32, level *uint32) uint32
	LinkState     func(device uint32, state *uint32, text *byte, size *uint32) uint32

	DieCount   func(device uint32, count *uint32) uint32
	ECC        func(device uint32, count *eccCount) uint32
	LinkInfo   func(device uint32, info *linkInfo) uint32
	LinkRemote func(device, link uint32, remote *linkRemote) uint32

	SGPUToggle    func(device uint32, on *uint32) uint32
	SetSGPUToggle func(device, on uint32) uint32
	SGPUCount     func(device uint32) uint32
	SGPUInfo      func(device, sgpu uint32, info *sgpuInfo) uint32
	SGPUAlias     func(device, sgpu uint32, text *byte, size *uint32) uint32
	SGPUMemory    func(device, sgpu uint32, memory *sgpuMemory) uint32
	SchedClass    func(device uint32, class *uint32) uint32
	SetSchedClass func(device, class uint32) uint32
	CreateSGPU    func(device, mib, percent uint32, sgpu *uint32) uint32
	RemoveSGPU    func(device, sgpu uint32) uint32
	SetSGPUAlias  func(device, sgpu uint32, text *byte) uint32
}

// symbol is a function's name in the library and its place here.
type symbol struct {
	name string
	into any
	need bool // without it, nothing works
}

func (f *functions) symbols() []symbol {
	return []symbol{
		{"mxSmlInit", &f.Init, true},
		{"mxSmlGetDeviceCount", &f.DeviceCount, true},
		{"mxSmlGetDeviceInfo", &f.DeviceInfo, true},
		{"mxSmlGetErrorString", &f.ErrorString, false},
		{"mxSmlGetPfDeviceCount", &f.PFCount, false},
		{"mxSmlGetLimitedDeviceInfo", &f.LimitedInfo, false},
		{"mxSmlGetVirtualDevicesByPhysicalId", &f.VFs, false},
		{"mxSmlGetMacaVersion", &f.MacaVersion, false},
		{"mxSmlGetDeviceVersion", &f.DeviceVersion, false},
		{"mxSmlGetBoardSerial", &f.BoardSerial, false},
		{"mxSmlGetChipSerial", &f.ChipSerial, false},
		{"mxSmlGetMemoryInfo", &f.Memory, false},
		{"mxSmlGetDeviceState", &f.State, false},
		{"mxSmlGetDeviceUnavailableReason", &f.Unavailable, false},
		{"mxSmlGetDeviceTopology", &f.Topology, false},
		{"mxSmlGetMetaXLinkState", &f.LinkState, false},
		{"mxSmlGetDeviceDieCount", &f.DieCount, false},
		{"mxSmlGetTotalEccErrors", &f.ECC, false},
		{"mxSmlGetMetaXLinkInfo", &f.LinkInfo, false},
		{"mxSmlGetMetaXLinkRemoteInfo", &f.LinkRemote, false},
		{"mxSmlGetSgpuToggle", &f.SGPUToggle, false},
		{"mxSmlSetSgpuToggle", &f.SetSGPUToggle, false},
		{"mxSmlGetSgpuCount", &f.SGPUCount, false},
		{"mxSmlGetSgpuInfo", &f.SGPUInfo, false},
		{"mxSmlGetSgpuAlias", &f.SGPUAlias, false},
		{"mxSmlGetSgpuMemory", &f.SGPUMemory, false},
		{"mxSmlGetDeviceSchedClass", &f.SchedClass, false},
		{"mxSmlSetDeviceSchedClass", &f.SetSchedClass, false},
		{"mxSmlCreateSgpu", &f.CreateSGPU, false},
		{"mxSmlRemoveSgpu", &f.RemoveSGPU, false},
		{"mxSmlSetSgpuAlias", &f.SetSGPUAlias, false},
	}
}
