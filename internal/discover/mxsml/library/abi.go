// SPDX-License-Identifier: Apache-2.0

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
	rasCount      = 128
	pciCount      = 32
	opticalCount  = 3
)

// Constants of the library's interface.
const (
	versionBIOS   = 0  // MXSML_Version_Bios
	versionDriver = 1  // MXSML_Version_Driver
	modePF        = 1  // MXSML_Virtualization_Mode_Pf
	modeVF        = 2  // MXSML_Virtualization_Mode_Vf
	brandN        = 1  // MXSML_Brand_N
	usageDLA      = 0  // MXSML_Usage_Dla, of the N series
	usageXCore    = 4  // MXSML_Usage_Xcore, of the C series
	usageVPUE     = 1  // MXSML_Usage_Vpue
	usageVPUD     = 2  // MXSML_Usage_Vpud
	hotspot       = 0  // MXSML_Temperature_Hotspot
	coreSensor    = 3  // MXSML_Temperature_Core
	hbmSensor     = 15 // MXSML_Temperature_Hbm
	clockMC       = 2  // MXSML_Clock_Mc, of the N series
	clockMC0      = 3  // MXSML_Clock_Mc0
	clockVPUE     = 5  // MXSML_Clock_Vpue
	clockVPUD     = 6  // MXSML_Clock_Vpud
	clockXCore    = 11 // MXSML_Clock_Xcore
	dpmXCore      = 1  // MXSML_Dpm_Xcore
	linkInput     = 0  // MXSML_MetaXLink_Input, which the vendor calls rx
	linkTarget    = 1  // MXSML_MetaXLink_Target
	noDevice      = 2  // MXSML_NoDevice
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

// memoryInfo is mxSmlMemoryInfo_t, 48 bytes; in KB, which are 1024 bytes. The C type is long.
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

// clocks has room for more frequencies than a unit has.
type clocks [8]uint32

// pcieInfo is mxSmlPcieInfo_t, 8 bytes.
type pcieInfo struct {
	Speed float32 // GT/s
	Width uint32  // lanes
}

// throughput is mxSmlPcieThroughput_t and mxSmlEthThroughput_t, 8 bytes; in MB/s.
type throughput struct{ Rx, Tx int32 }

// linkBandwidth is mxSmlMetaXLinkBandwidth_t, 8 bytes; in MB/s. Those of all ports follow each
// other.
type linkBandwidth struct{ Request, Response int32 }

// linkTraffic is mxSmlMetaXLinkTrafficStat_t, 16 bytes; in bytes.
type linkTraffic struct{ Request, Response int64 }

// linkAER is mxSmlMetaXLinkAer_t, 8 bytes.
type linkAER struct{ Corrected, Uncorrected int32 }

// linkTopo is mxSmlMetaXLinkTopo_t, 12 bytes.
type linkTopo struct{ TopologyID, SocketID, DieID uint32 }

// opticalModule is mxSmlOpticalModuleStatus_t, 32 bytes.
type opticalModule struct {
	Temperature               int32 // hundredths of a degree
	Voltage, Module, DataPath uint32
	Rx, Version               [2]uint32
}

// pciEvent is mxSmlPciEventInfo_t, 92 bytes.
type pciEvent struct {
	Bit   int32
	Count uint32
	First [20]byte
	Name  [64]byte
}

// rasErrors is mxSmlRasErrorData_t, 2052 bytes.
type rasErrors struct {
	Register [rasCount]struct {
		Unit, Index            uint32
		Uncorrected, Corrected int32
	}
	Size int32
}

// rasStatus is mxSmlRasStatusData_t, 1540 bytes.
type rasStatus struct {
	Register [rasCount]struct {
		Unit, Index uint32
		Data        int32
	}
	Size int32
}

// rasUnits are the names of the units by the library's number, as the vendor's exporter has
// them.
var rasUnits = [...]string{
	"MC", "PCIE", "FUSE", "G2D", "INT", "HAG", "METALK", "SMP0", "SMP1", "CCX0", "CCX1", "CCX2", "CCX3", "DLA0", "DLA1",
	"VPUE0", "VPUE1", "VPUD0", "VPUD1", "VPUD2", "VPUD3", "VPUD4", "VPUD5", "VPUD6", "VPUD7", "DMA0", "DMA1", "DMA2",
	"DMA3", "DMA4",
	"MCCTL0", "MCCTL1", "MCCTL2", "MCCTL3", "DHUB1", "DHUB2", "DHUB3", "DHUB4", "DHUB5", "DHUB6", "DHUB7",
	"ATH", "ATUL20", "ATUL21", "XSC", "CE", "ETH", "ETHSC",
}

// required is how many of the functions, from the first, the library must have.
const required = 3

// functions are the library's functions by their C names; nil if the library lacks one.
// Their results are error codes, except for counts. All C enumerations are 32 bits
// wide.
type functions struct {
	Init        func() uint32                                `c:"mxSmlInit"`
	DeviceCount func() uint32                                `c:"mxSmlGetDeviceCount"`
	DeviceInfo  func(device uint32, info *deviceInfo) uint32 `c:"mxSmlGetDeviceInfo"`

	ErrorString func(code uint32) *byte                      `c:"mxSmlGetErrorString"`
	PFCount     func() uint32                                `c:"mxSmlGetPfDeviceCount"`
	AllLimited  func(ids *virtualIDs) uint32                 `c:"mxSmlGetAllLimitedDevices"`
	LimitedInfo func(device uint32, info *deviceInfo) uint32 `c:"mxSmlGetLimitedDeviceInfo"`
	VFs         func(device uint32,
		ids *virtualIDs) uint32 `c:"mxSmlGetVirtualDevicesByPhysicalId"`
	MacaVersion   func(text *byte, size *uint32) uint32                      `c:"mxSmlGetMacaVersion"`
	DeviceVersion func(device, unit uint32, text *byte, size *uint32) uint32 `c:"mxSmlGetDeviceVersion"`
	BoardSerial   func(device uint32, text *byte, size *uint32) uint32       `c:"mxSmlGetBoardSerial"`
	ChipSerial    func(device uint32, text *byte, size *uint32) uint32       `c:"mxSmlGetChipSerial"`
	Memory        func(device uint32, memory *memoryInfo) uint32             `c:"mxSmlGetMemoryInfo"`
	// 1 is available
	State       func(device uint32, state *int32) uint32                            `c:"mxSmlGetDeviceState"`
	SRIOV       func(device uint32, supported *uint32) uint32                       `c:"mxSmlGetSriovState"`
	Unavailable func(device uint32, reason *unavailable) uint32                     `c:"mxSmlGetDeviceUnavailableReason"`
	Topology    func(a, b uint32, level *uint32) uint32                             `c:"mxSmlGetDeviceTopology"`
	LinkState   func(device uint32, state *uint32, text *byte, size *uint32) uint32 `c:"mxSmlGetMetaXLinkState"`

	Usage       func(device, unit uint32, percent *int32) uint32              `c:"mxSmlGetDeviceIpUsage"`
	Temperature func(device, sensor uint32, hundredths *int32) uint32         `c:"mxSmlGetTemperatureInfo"`
	Power       func(device uint32, count *uint32, ways *electricInfo) uint32 `c:"mxSmlGetBoardPowerInfo"`
	PowerLimit  func(device uint32, milliwatt *uint32) uint32                 `c:"mxSmlGetBoardPowerLimit"`

	Clocks   func(device, unit uint32, count, mhz *uint32) uint32 `c:"mxSmlGetClocks"`
	Throttle func(device uint32,
		reasons *uint64) uint32 `c:"mxSmlGetCurrentClocksThrottleReason"`
	DPMLevel func(device, unit uint32,
		level *uint32) uint32 `c:"mxSmlGetCurrentDpmIpPerfLevel"`
	PCIe           func(device uint32, info *pcieInfo) uint32   `c:"mxSmlGetPcieInfo"`
	PCIeMax        func(device uint32, info *pcieInfo) uint32   `c:"mxSmlGetPcieMaxLinkInfo"`
	PCIeThroughput func(device uint32, rate *throughput) uint32 `c:"mxSmlGetPcieThroughput"`
	EthThroughput  func(device uint32, rate *throughput) uint32 `c:"mxSmlGetEthThroughput"`
	LinkBandwidth  func(device, direction uint32, count *uint32,
		rates *linkBandwidth) uint32 `c:"mxSmlGetMetaXLinkBandwidth"`
	LinkTraffic func(device, direction uint32, count *uint32, bytes *linkTraffic) uint32 `c:"mxSmlGetMetaXLinkTrafficStat"`
	LinkAER     func(device uint32, count *uint32, errors *linkAER) uint32               `c:"mxSmlGetMetaXLinkAer"`
	LinkTopo    func(device uint32, place *linkTopo) uint32                              `c:"mxSmlGetMetaXLinkTopo"`
	RASErrors   func(device uint32, errors *rasErrors) uint32                            `c:"mxSmlGetRasErrorData"`
	RASStatus   func(device uint32, status *rasStatus) uint32                            `c:"mxSmlGetRasStatusData"`
	PCIEvents   func(device, kind uint32, events *pciEvent, count *uint32) uint32        `c:"mxSmlGetPciEventInfo"`
	Optical     func(device uint32, modules *opticalModule, count *uint32) uint32        `c:"mxSmlGetOpticalModuleStatus"`
	SGPUUsage   func(device, sgpu uint32, hundredths *int32) uint32                      `c:"mxSmlGetSgpuUsage"`

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
