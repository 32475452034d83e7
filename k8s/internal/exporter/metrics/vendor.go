// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
)

// vendorLabels are those of most metrics with the vendor's names.
var vendorLabels = []string{
	"deviceId", "uuid", "exported_pod", "exported_namespace", "exported_container", "Hostname",
	"driver_version", "bios_version", "modelName",
}

// Metrics by the names, labels and units of the vendor's exporter, mxExporter 2.2.11.
var (
	vendorState    = ofDie("mx_gpu_state", "Whether the GPU is available (1) or not (0)", "unavailable_reason")
	vendorUsage    = ofDie("mx_gpu_usage", "Use of the GPU in percent")
	vendorMemUsage = ofDie("mx_memory_usage", "Use of the GPU's memory (vram) and of the host's (xtt) in percent",
		"type")
	vendorMemTotal    = ofDie("mx_memory_total", "Memory of the GPU (vram) and of the host (xtt) in KB", "type")
	vendorMemUsed     = ofDie("mx_memory_used", "Memory of the GPU (vram) and of the host (xtt) in use in KB", "type")
	vendorPCIeRate    = ofDevice("mx_pcie_bw", "Throughput of PCIe in MB/s", "type")
	vendorEthRate     = ofDevice("mx_eth_bw", "Throughput of Ethernet in MB/s", "type")
	vendorPortRate    = ofDevice("mx_mxlk_bw", "Throughput of a port of MetaXLink in MB/s", "type", "mxlkId")
	vendorPortTraffic = ofDevice("mx_mxlk_traffic_total_bytes", "Bytes that a port of MetaXLink has carried", "type",
		"mxlkId")
	vendorPortErrors = ofDevice("mx_mxlk_aer_count", "Errors of a port of MetaXLink", "type", "mxlkId")
	vendorPlace      = ofDevice("mx_topo_info", "Always 1; the labels are the GPU's place in MetaXLink", "topology_id",
		"socket_id", "die_id")
	vendorECC       = ofDie("mx_ecc_error_count", "Memory errors of the GPU", "type")
	vendorRAS       = ofDie("mx_ras_count", "Errors in a register of a unit that has any", "register_name")
	vendorRASStatus = ofDie("mx_ras_status", "Content of a status register of a unit", "register_name")
	vendorPCI       = ofDevice("mx_pci_event", "Events of PCIe that the driver counted", "type", "event_name")
	vendorLog       = ofDie("mx_driver_log_errors", "Errors that the driver wrote to the kernel's log in this boot",
		"module", "err_level")
	vendorEID = ofDie("mx_driver_eid_errors",
		"Number of an error that the driver wrote to the kernel's log in this boot", "eid_info")
	vendorOptical = ofDevice("mx_optical_module_temp", "Temperature of an optical module in degrees", "channelId")
	vendorType    = Family{
		"mx_device_type", "Always 1; the labels describe the GPU",
		[]string{"deviceId", "dieId", "deviceType", "uuid"},
	}
	vendorBIOS = Family{
		"mx_bios_ver", "Always 1; the label is the version of the VBIOS",
		[]string{"deviceId", "dieId", "bios"},
	}
	vendorDriver = Family{
		"mx_driver_ver", "Always 1; the label is the version of the driver",
		[]string{"deviceId", "dieId", "driver"},
	}

	vendorQuota     = ofSGPU("mx_sgpu_compute_quota", "Compute units of the slice in percent of the GPU's")
	vendorSGPUUse   = ofSGPU("mx_sgpu_usage", "Use of the slice in percent")
	vendorSGPUTotal = ofSGPU("mx_sgpu_total_memory", "Memory of the slice in KB")
	vendorSGPUUsed  = ofSGPU("mx_sgpu_used_memory", "Memory of the slice in use in KB")
	vendorSGPUFree  = ofSGPU("mx_sgpu_free_memory", "Memory of the slice that is free in KB")
)

// vendorMeasures are the measures that are one metric.
var vendorMeasures = []rendering{
	{
		of: gpu.HotspotC, family: ofDie("mx_chip_hotspot_temp", "Temperature of the hottest place of the GPU in degrees"),
		unit: 1, labels: nil,
	},
	{of: gpu.HBMC, family: ofDie("mx_chip_hbm_temp", "Temperature of the GPU's memory in degrees"), unit: 1, labels: nil},
	{
		of: gpu.BoardC, family: ofDie("mx_board_core_temp", "Temperature of the board's voltage regulators in degrees"),
		unit: 1, labels: nil,
	},
	{of: gpu.EncoderPercent, family: ofDie("mx_vpue_usage", "Use of the encoders in percent"), unit: 1, labels: nil},
	{of: gpu.DecoderPercent, family: ofDie("mx_vpud_usage", "Use of the decoders in percent"), unit: 1, labels: nil},
	{
		of: gpu.Milliwatt, family: ofDevice("mx_board_power", "Power that the board draws in milliwatt"), unit: 1,
		labels: nil,
	},
	{of: gpu.EncoderMHz, family: ofDie("mx_vpue_clock", "Clock frequency of the encoders in MHz"), unit: 1, labels: nil},
	{of: gpu.DecoderMHz, family: ofDie("mx_vpud_clock", "Clock frequency of the decoders in MHz"), unit: 1, labels: nil},
	{
		of: gpu.MemoryClockMHz, family: ofDie("mx_mem_clock", "Clock frequency of the GPU's memory in MHz"), unit: 1,
		labels: nil,
	},
	{of: gpu.ClockMHz, family: ofDie("mx_gpu_clock", "Clock frequency of the compute units in MHz"), unit: 1, labels: nil},
	{
		of: gpu.PCIeGTps, family: ofDevice("mx_pcie_speed", "Speed of a lane of the PCIe link in GT/s"), unit: 1,
		labels: nil,
	},
	{of: gpu.PCIeLanes, family: ofDevice("mx_pcie_width", "Lanes of the PCIe link"), unit: 1, labels: nil},
	{of: gpu.PCIeMaxGTps, family: ofDevice("mx_pcie_bridge_speed",
		"Speed of a lane that the GPU and the bridge above it can have in GT/s"), unit: 1, labels: nil},
	{
		of: gpu.PCIeMaxLanes, family: ofDevice("mx_pcie_bridge_width", "Lanes that the GPU and the bridge above it can have"),
		unit: 1, labels: nil,
	},
	{
		of: gpu.DPMLevel, family: ofDie("mx_xcore_dpm_level", "Performance level of the compute units"), unit: 1,
		labels: nil,
	},
	{
		of: gpu.ThrottleReasons, family: ofDie("mx_clk_thr", "Why clocks are lower than they could be, as bits"), unit: 1,
		labels: nil,
	},
	{of: gpu.PCIeTxMBps, family: vendorPCIeRate, unit: 1, labels: []string{"tx"}},
	{of: gpu.PCIeRxMBps, family: vendorPCIeRate, unit: 1, labels: []string{"rx"}},
	{of: gpu.EthTxMBps, family: vendorEthRate, unit: 1, labels: []string{"tx"}},
	{of: gpu.EthRxMBps, family: vendorEthRate, unit: 1, labels: []string{"rx"}},
}

// vendorPorts are the measures of a port, whose number is the last label.
var vendorPorts = []rendering{
	{
		of: gpu.PortGTps, family: ofDevice("mx_mxlk_speed", "Speed of a lane of a port of MetaXLink in GT/s", "mxlkId"),
		unit: 1, labels: nil,
	},
	{of: gpu.PortLanes, family: ofDevice("mx_mxlk_width", "Lanes of a port of MetaXLink", "mxlkId"), unit: 1, labels: nil},
	{of: gpu.PortTxMBps, family: vendorPortRate, unit: 1, labels: []string{"tx"}},
	{of: gpu.PortRxMBps, family: vendorPortRate, unit: 1, labels: []string{"rx"}},
	{of: gpu.PortTxBytes, family: vendorPortTraffic, unit: 1, labels: []string{"tx"}},
	{of: gpu.PortRxBytes, family: vendorPortTraffic, unit: 1, labels: []string{"rx"}},
	{of: gpu.PortCorrected, family: vendorPortErrors, unit: 1, labels: []string{"ce"}},
	{of: gpu.PortUncorrected, family: vendorPortErrors, unit: 1, labels: []string{"ue"}},
}

// VendorFamilies are all families with the vendor's names.
func VendorFamilies() []Family {
	all := []Family{
		vendorState, vendorUsage, vendorMemUsage, vendorMemTotal, vendorMemUsed, vendorPCIeRate, vendorEthRate,
		vendorPortRate, vendorPortTraffic,
		vendorPortErrors, vendorPlace, vendorECC, vendorRAS, vendorRASStatus, vendorPCI, vendorLog, vendorEID, vendorOptical,
		vendorType, vendorBIOS, vendorDriver,
		vendorQuota, vendorSGPUUse, vendorSGPUTotal, vendorSGPUUsed, vendorSGPUFree,
	}
	for _, r := range append(vendorMeasures[:len(vendorMeasures):len(vendorMeasures)], vendorPorts...) {
		if !slices.ContainsFunc(all, func(f Family) bool { return f.Name == r.family.Name }) {
			all = append(all, r.family)
		}
	}
	return all
}

// ofDie is a family whose last label is the number of a die; of a GPU with two, the values are
// those of the GPU.
func ofDie(name, help string, more ...string) Family {
	f := ofDevice(name, help, more...)
	f.Labels = append(f.Labels, "die_id")
	return f
}

func ofDevice(name, help string, more ...string) Family {
	return Family{name, help, append(more[:len(more):len(more)], vendorLabels...)}
}

func ofSGPU(name, help string) Family {
	return Family{name, help, append([]string{"deviceId", "sgpuId", "minor"}, vendorLabels[1:]...)}
}

// die is the die of which the values are.
const die = "0"

// maxUsers is of how many users that share a GPU each has series of its own.
const maxUsers = 16

// sendVendorMetrics sends the metrics with the vendor's names. What is not known has no
// series.
func (s Snapshot) sendVendorMetrics(send send, hostname string) {
	for _, g := range s.Node.GPUs {
		v := vendorGPU{GPU: g, r: s.readingOf(g), hostname: hostname, driver: "unknown", users: s.Users[g.BDF], send: send}
		if d := s.Node.Driver; d != nil {
			v.driver = cmp.Or(d.Version, v.driver)
		}
		v.describe()
		v.use()
		v.measures()
		if len(g.VFs) == 0 {
			v.state(s.Health)
		}
		v.slices(s.SliceUsers)
	}
}

// vendorGPU is a GPU of which series are sent.
type vendorGPU struct {
	gpu.GPU
	r                gpu.Reading
	hostname, driver string
	users            []User
	send             send
}

// labels are the vendorLabels, without the first, for a device with that UUID and user.
func (v vendorGPU) labels(uuid string, u User) []string {
	model := v.Model
	if len(v.VFs) > 0 {
		model += " PF"
	}
	return []string{uuid, u.Pod, u.Namespace, u.Container, v.hostname, v.driver, cmp.Or(v.VBIOS, "unknown"), model}
}

// of sends a series of the GPU with those labels before the others.
func (v vendorGPU) of(f Family, value float64, u User, more ...string) {
	labels := append(append(slices.Clone(more), strconv.Itoa(v.Index)), v.labels(string(v.UUID), u)...)
	if len(labels) < len(f.Labels) {
		labels = append(labels, die)
	}
	v.send(f, value, labels...)
}

// each sends a series of the GPU, with its user if it has exactly one.
func (v vendorGPU) each(f Family, value float64, more ...string) {
	var user User
	if len(v.users) == 1 {
		user = v.users[0]
	}
	v.of(f, value, user, more...)
}

// shared sends a series of the GPU for each container that uses it.
func (v vendorGPU) shared(f Family, value float64, more ...string) {
	users := slices.DeleteFunc(slices.Clone(v.users), func(u User) bool { return u.Container == "" })
	if len(users) == 0 {
		users = []User{{}}
	}
	for _, u := range users[:min(len(users), maxUsers)] {
		v.of(f, value, u, more...)
	}
}

func (v vendorGPU) describe() {
	index, labels := strconv.Itoa(v.Index), v.labels("", User{})
	v.send(vendorType, 1, index, die, labels[len(labels)-1], string(v.UUID))
	v.send(vendorBIOS, 1, index, die, cmp.Or(v.VBIOS, "unknown"))
	v.send(vendorDriver, 1, index, die, v.driver)
	place, ok := v.r.Measures[gpu.WiringID]
	if socket, ok2 := v.r.Measures[gpu.SocketID]; ok && ok2 {
		v.each(vendorPlace, 1, strconv.Itoa(int(place)), strconv.Itoa(int(socket)), die)
	}
}

func (v vendorGPU) state(s health.State) {
	for _, c := range s.GPUs {
		if c.BDF != v.BDF || c.Health == health.Unknown {
			continue
		}
		why := ""
		if c.Health != health.Healthy {
			why = cmp.Or(c.Words, c.Reason, c.Code)
		}
		v.each(vendorState, boolValue(c.Health == health.Healthy), why)
	}
}

// use sends how much of the GPU and of its memory is used. A source may have rounded values
// alone.
func (v vendorGPU) use() {
	if p := v.r.UtilizationPercent; p != nil {
		v.shared(vendorUsage, float64(*p))
	}
	m := gpu.Measures{}
	for of, value := range v.r.Measures {
		m.Set(of, value)
	}
	for _, rounded := range []struct {
		of   gpu.Measure
		from *int
	}{{gpu.UsedKiB, v.r.MemoryUsedMiB}, {gpu.TotalKiB, v.r.MemoryTotalMiB}} {
		if rounded.from != nil {
			m.Set(rounded.of, float64(*rounded.from<<10))
		}
	}
	for _, memory := range []struct {
		name        string
		used, total gpu.Measure
	}{{"vram", gpu.UsedKiB, gpu.TotalKiB}, {"xtt", gpu.SystemUsedKiB, gpu.SystemTotalKiB}} {
		used, isUsed := m[memory.used]
		total, isTotal := m[memory.total]
		if isUsed {
			v.shared(vendorMemUsed, used, memory.name)
		}
		if isTotal {
			v.each(vendorMemTotal, total, memory.name)
		}
		if isUsed && isTotal && total > 0 {
			v.each(vendorMemUsage, used*100/total, memory.name)
		}
	}
}

func (v vendorGPU) measures() {
	m := gpu.Measures{}
	for of, value := range v.r.Measures {
		m.Set(of, value)
	}
	if c := v.r.TemperatureC; c != nil {
		m.Set(gpu.HotspotC, float64(*c))
	}
	if w := v.r.PowerW; w != nil {
		m.Set(gpu.Milliwatt, float64(*w*1000))
	}
	renderMeasures(v.each, vendorMeasures, m)
	for _, p := range v.r.Ports {
		renderMeasures(func(f Family, value float64, more ...string) {
			v.each(f, value, append(more, strconv.Itoa(p.Number))...)
		}, vendorPorts, p.Measures)
	}
	if ecc := v.r.ECC; ecc != nil {
		for of, count := range map[string]uint32{
			"sram_ce": ecc.SRAMCorrected, "sram_ue": ecc.SRAMUncorrected, "dram_ce": ecc.DRAMCorrected,
			"dram_ue": ecc.DRAMUncorrected, "retired_page": ecc.RetiredPages,
		} {
			v.each(vendorECC, float64(count), of)
		}
	}
	for _, c := range v.r.Counters {
		switch c.Kind {
		case gpu.CountRAS:
			v.each(vendorRAS, c.Value, c.Name+map[string]string{gpu.Corrected: " ce", gpu.Uncorrected: " ue"}[c.Type])
		case gpu.RASStatus:
			v.each(vendorRASStatus, c.Value, c.Name)
		case gpu.CountLog:
			v.each(vendorLog, c.Value, c.Name, c.Type)
		case gpu.LogEID:
			v.each(vendorEID, c.Value, c.Name)
		case gpu.CountPCI:
			v.each(vendorPCI, c.Value, c.Type, c.Name)
		case gpu.OpticalC:
			v.each(vendorOptical, c.Value, c.Name)
		}
	}
}

func (v vendorGPU) slices(users map[string]User) {
	for _, of := range v.Slices {
		if of.Kind != gpu.SliceSGPU {
			continue
		}
		minor := ""
		for _, read := range v.r.Slices {
			if read.Index == of.Index && read.Minor != nil {
				minor = strconv.Itoa(*read.Minor)
			}
		}
		send := func(f Family, value float64) {
			v.send(f, value,
				append([]string{strconv.Itoa(v.Index), strconv.Itoa(of.Index), minor}, v.labels(of.UUID, users[of.UUID])...)...)
		}
		if of.ComputePercent > 0 {
			send(vendorQuota, float64(of.ComputePercent))
		}
		m := sliceMeasures(of, v.r)
		if use, ok := m[gpu.SlicePercent]; ok {
			send(vendorSGPUUse, use)
		}
		total, isTotal := m[gpu.TotalKiB]
		used, isUsed := m[gpu.UsedKiB]
		if isTotal {
			send(vendorSGPUTotal, total)
		}
		if isUsed {
			send(vendorSGPUUsed, used)
		}
		if isTotal && isUsed {
			send(vendorSGPUFree, max(total-used, 0))
		}
	}
}
