// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/metax-ctk/container-toolkit/k8s/internal/protocol"

// Family is a metric with its labels: a counter if its name ends in _total, otherwise a gauge.
type Family struct {
	Name   string
	Help   string // one sentence, without a full stop
	Labels []string
}

// gpuLabels name a GPU and its user: position, UUID and PCI address of the GPU, and either the
// pod's namespace, name and container, or the lease of a container outside of Kubernetes. The
// labels of the user are empty for a GPU without a user, and where several have a part of it.
var gpuLabels = []string{"gpu", "uuid", "bdf", "namespace", "pod", "container", "lease"}

// The families of a GPU.
var (
	Healthy   = ofGPU("metax_gpu_healthy", "Whether the GPU is healthy (1), or unhealthy or unknown (0)")
	Problem   = ofGPU("metax_gpu_problem", "Always 1, for a GPU that is not healthy; code says why", "code")
	Users     = Family{"metax_gpu_users", "Containers and leases that have the GPU or a part of it", gpuLabels[:3:3]}
	Container = Family{
		"metax_gpu_container_info", "Always 1, for a container or lease of a host; the labels describe it",
		append(gpuLabels[:3:3], "container", "container_id", "engine", "image", "lease", "user"),
	}
	Utilization = ofGPU("metax_gpu_utilization_ratio", "Share of time in which the GPU computes, from 0 to 1")
	MemoryUsed  = ofGPU("metax_gpu_memory_used_bytes", "Memory of the GPU in use")
	MemoryTotal = ofGPU("metax_gpu_memory_total_bytes", "Memory of the GPU")
	Temperature = ofGPU("metax_gpu_temperature_celsius", "Temperature of the hottest place of the GPU")
	Power       = ofGPU("metax_gpu_power_watts", "Power that the board draws")
	PowerLimit  = ofGPU("metax_gpu_power_limit_watts", "Power that the board may draw")
	LinksUp     = ofGPU("metax_gpu_links_up", "Ports of MetaXLink that are trained")
	LinksLost   = ofGPU("metax_gpu_links_lost", "MetaXLinks to other GPUs that are down or missing")
	ECCErrors   = ofGPU("metax_gpu_ecc_errors_total", "Memory errors of the GPU since its driver was loaded", "memory",
		"kind")
	Retired = ofGPU("metax_gpu_retired_pages",
		"Pages of the GPU's memory that are not used any more because of memory errors")
	Info = Family{
		"metax_gpu_info", "Always 1; the labels describe the GPU",
		[]string{"gpu", "uuid", "bdf", "model", "product", "numa", "link_domain"},
	}
)

// The families of a GPU's further measures, in base units.
var (
	Clock     = ofGPU(protocol.ClockMetric, "Clock frequency of a unit of the GPU", "unit")
	Throttled = ofGPU(protocol.ThrottleMetric,
		"Why clocks are lower than they could be, as bits of the driver's; 0 if they are not")
	Level    = ofGPU("metax_gpu_performance_level", "Performance level of the compute units; higher is faster")
	CodecUse = ofGPU("metax_gpu_codec_utilization_ratio",
		"Share of time in which an encoder or decoder works, from 0 to 1", "unit")
	HBMTemperature = ofGPU("metax_gpu_hbm_temperature_celsius", "Temperature of the GPU's memory")
	BoardTemp      = ofGPU("metax_gpu_board_temperature_celsius", "Temperature of the board's voltage regulators")
	OpticalTemp    = ofGPU("metax_gpu_optical_module_temperature_celsius", "Temperature of an optical module", "module")
	SystemUsed     = ofGPU("metax_gpu_system_memory_used_bytes", "Memory of the host that the GPU uses")
	SystemTotal    = ofGPU("metax_gpu_system_memory_total_bytes", "Memory of the host that the GPU may use")
	PCIeSpeed      = ofGPU("metax_gpu_pcie_transfers_per_second", "Speed of a lane of the PCIe link")
	PCIeLanes      = ofGPU("metax_gpu_pcie_lanes", "Lanes of the PCIe link")
	PCIeMaxSpeed   = ofGPU("metax_gpu_pcie_max_transfers_per_second",
		"Speed of a lane that the GPU and the bridge above it can have")
	PCIeMaxLanes = ofGPU("metax_gpu_pcie_max_lanes", "Lanes that the GPU and the bridge above it can have")
	PCIeRate     = ofGPU("metax_gpu_pcie_bytes_per_second", "Throughput of PCIe", "direction")
	EthernetRate = ofGPU("metax_gpu_ethernet_bytes_per_second", "Throughput of Ethernet", "direction")
	PCIEvents    = ofGPU("metax_gpu_pci_events_total", "Events of PCIe that the driver counted", "type", "event")
	RASErrors    = ofGPU("metax_gpu_ras_errors_total", "Errors in a register of a unit that has any", "register", "kind")
	RASStatus    = ofGPU("metax_gpu_ras_status", "Content of a status register of a unit", "register")
	LogErrors    = ofGPU("metax_gpu_log_errors_total", "Errors that the driver wrote to the kernel's log in this boot",
		"module", "level")
	LogEID = ofGPU("metax_gpu_log_eid", "Number of an error that the driver wrote to the kernel's log in this boot",
		"text")
	PortSpeed = ofGPU("metax_gpu_link_transfers_per_second", "Speed of a lane of a port of MetaXLink; 0 if it is down",
		"port")
	PortLanes  = ofGPU("metax_gpu_link_lanes", "Lanes of a port of MetaXLink; 0 if it is down", "port")
	PortRate   = ofGPU("metax_gpu_link_bytes_per_second", "Throughput of a port of MetaXLink", "port", "direction")
	PortBytes  = ofGPU("metax_gpu_link_bytes_total", "Bytes that a port of MetaXLink has carried", "port", "direction")
	PortErrors = ofGPU("metax_gpu_link_errors_total", "Transmission errors of a port of MetaXLink", "port", "kind")
)

// The families of a slice, which have its user.
var (
	SliceCompute = ofSlice("metax_slice_compute_ratio", "Share of the GPU's compute units that the slice has, from 0 to 1")
	SliceUse     = ofSlice("metax_slice_utilization_ratio", "How much of the GPU the slice uses, from 0 to 1")
	SliceUsed    = ofSlice("metax_slice_memory_used_bytes", "Memory of the slice in use")
	SliceTotal   = ofSlice("metax_slice_memory_total_bytes", "Memory of the slice")
)

// The families of a node.
var (
	GPUs     = Family{"metax_gpus", "GPUs that the node has had since the exporter started, missing ones too", nil}
	Software = Family{
		"metax_software_info", "Always 1; the labels are versions and the driver's mode",
		[]string{"driver", "driver_mode", "maca"},
	}
	SourceUp = Family{
		"metax_exporter_source_up", "Whether the last question to a source was answered",
		[]string{"source"},
	}
	LookTime   = Family{"metax_exporter_look_timestamp_seconds", "Time of the last look at the health of the GPUs", nil}
	LookFailed = Family{"metax_exporter_look_failed", "Whether the last look at the health of the GPUs failed", nil}
)

// Families returns all, in the order of the documentation.
func Families() []Family {
	return []Family{
		Healthy, Problem, Users, Container, Utilization, MemoryUsed, MemoryTotal, Temperature, Power, PowerLimit,
		LinksUp, LinksLost, ECCErrors, Retired, Info,
		Clock, Throttled, Level, CodecUse, HBMTemperature, BoardTemp, OpticalTemp, SystemUsed, SystemTotal,
		PCIeSpeed, PCIeLanes, PCIeMaxSpeed, PCIeMaxLanes, PCIeRate, EthernetRate, PCIEvents, RASErrors, RASStatus, LogErrors,
		LogEID,
		PortSpeed, PortLanes, PortRate, PortBytes, PortErrors, SliceCompute, SliceUse, SliceUsed, SliceTotal,
		GPUs, Software, SourceUp, LookTime, LookFailed,
	}
}

// ofGPU is a family of a GPU, with more labels than its own.
func ofGPU(name, help string, more ...string) Family {
	return Family{name, help, append(gpuLabels[:len(gpuLabels):len(gpuLabels)], more...)}
}

// ofSlice is a family of a slice, which has the labels of its GPU, and those of the slice's
// user.
func ofSlice(name, help string) Family { return ofGPU(name, help, "slice", "slice_uuid") }
