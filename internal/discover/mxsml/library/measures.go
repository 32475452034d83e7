// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// addMeasures adds what else a device measures. A value that the library does not report is
// missing, without a warning: no device has all of them.
func (l *Library) addMeasures(id uint32, info deviceInfo, r *mxsml.Reading) {
	set := func(of gpu.Measure, value float64, err error) {
		if err == nil {
			r.Measures.Set(of, value)
		}
	}
	memoryClock := uint32(clockMC0)
	if info.Brand == brandN {
		memoryClock = clockMC
	}
	for _, c := range []struct {
		of   gpu.Measure
		unit uint32
	}{
		{gpu.ClockMHz, clockXCore},
		{gpu.MemoryClockMHz, memoryClock},
		{gpu.EncoderMHz, clockVPUE},
		{gpu.DecoderMHz, clockVPUD},
	} {
		mhz, count, err := getArray[clocks](l, "mxSmlGetClocks", l.fn.Clocks != nil, len(clocks{}),
			func(p *clocks, n *uint32) uint32 { return l.fn.Clocks(id, c.unit, n, &p[0]) })
		if count > 0 {
			set(c.of, float64(mhz[0]), err)
		}
	}
	for _, s := range []struct {
		of     gpu.Measure
		sensor uint32
	}{{gpu.HBMC, hbmSensor}, {gpu.BoardC, coreSensor}} {
		hundredths, err := getStruct(l, "mxSmlGetTemperatureInfo", l.fn.Temperature != nil,
			func(p *int32) uint32 { return l.fn.Temperature(id, s.sensor, p) })
		set(s.of, float64(hundredths)/100, err)
	}
	for _, u := range []struct {
		of   gpu.Measure
		unit uint32
	}{{gpu.EncoderPercent, usageVPUE}, {gpu.DecoderPercent, usageVPUD}} {
		percent, err := getStruct(l, "mxSmlGetDeviceIpUsage", l.fn.Usage != nil,
			func(p *int32) uint32 { return l.fn.Usage(id, u.unit, p) })
		set(u.of, float64(percent), err)
	}
	reasons, err := getStruct(l, "mxSmlGetCurrentClocksThrottleReason", l.fn.Throttle != nil,
		func(p *uint64) uint32 { return l.fn.Throttle(id, p) })
	set(gpu.ThrottleReasons, float64(reasons), err)
	level, err := getStruct(l, "mxSmlGetCurrentDpmIpPerfLevel", l.fn.DPMLevel != nil,
		func(p *uint32) uint32 { return l.fn.DPMLevel(id, dpmXCore, p) })
	set(gpu.DPMLevel, float64(level), err)
	pcie, err := getStruct(l, "mxSmlGetPcieInfo", l.fn.PCIe != nil, func(p *pcieInfo) uint32 { return l.fn.PCIe(id, p) })
	set(gpu.PCIeGTps, float64(pcie.Speed), err)
	set(gpu.PCIeLanes, float64(pcie.Width), err)
	pcie, err = getStruct(l, "mxSmlGetPcieMaxLinkInfo", l.fn.PCIeMax != nil,
		func(p *pcieInfo) uint32 { return l.fn.PCIeMax(id, p) })
	set(gpu.PCIeMaxGTps, float64(pcie.Speed), err)
	set(gpu.PCIeMaxLanes, float64(pcie.Width), err)
	rate, err := getStruct(l, "mxSmlGetPcieThroughput", l.fn.PCIeThroughput != nil,
		func(p *throughput) uint32 { return l.fn.PCIeThroughput(id, p) })
	set(gpu.PCIeTxMBps, float64(rate.Tx), err)
	set(gpu.PCIeRxMBps, float64(rate.Rx), err)
	rate, err = getStruct(l, "mxSmlGetEthThroughput", l.fn.EthThroughput != nil,
		func(p *throughput) uint32 { return l.fn.EthThroughput(id, p) })
	set(gpu.EthTxMBps, float64(rate.Tx), err)
	set(gpu.EthRxMBps, float64(rate.Rx), err)
	if info.Mode != modePF {
		l.measureLinks(id, r)
	}
	if info.Mode == 0 {
		l.measureSlices(id, r)
	}
	l.addCounters(id, r)
}

// setPort sets a measure of the port with the index, which counts from 0.
func setPort(r *mxsml.Reading, index int, of gpu.Measure, value float64) {
	for len(r.Ports) <= index {
		r.Ports = append(r.Ports, gpu.Port{Number: len(r.Ports) + 1})
	}
	r.Ports[index].Measures.Set(of, value)
}

// measureLinks adds what the ports of MetaXLink measure. Of requests and responses, the
// vendor's exporter has the requests.
func (l *Library) measureLinks(id uint32, r *mxsml.Reading) {
	for _, d := range []struct {
		direction   uint32
		rate, bytes gpu.Measure
	}{{linkInput, gpu.PortRxMBps, gpu.PortRxBytes}, {linkTarget, gpu.PortTxMBps, gpu.PortTxBytes}} {
		rates, count,
			_ := getArray[[linkCount]linkBandwidth](l, "mxSmlGetMetaXLinkBandwidth", l.fn.LinkBandwidth != nil, linkCount,
			func(p *[linkCount]linkBandwidth, n *uint32) uint32 {
				return l.fn.LinkBandwidth(id, d.direction, n, &p[0])
			})
		for i, rate := range rates[:count] {
			setPort(r, i, d.rate, float64(rate.Request))
		}
		bytes, count,
			_ := getArray[[linkCount]linkTraffic](l, "mxSmlGetMetaXLinkTrafficStat", l.fn.LinkTraffic != nil, linkCount,
			func(p *[linkCount]linkTraffic, n *uint32) uint32 { return l.fn.LinkTraffic(id, d.direction, n, &p[0]) })
		for i, traffic := range bytes[:count] {
			setPort(r, i, d.bytes, float64(traffic.Request))
		}
	}
	errors, count, _ := getArray[[linkCount]linkAER](l, "mxSmlGetMetaXLinkAer", l.fn.LinkAER != nil, linkCount,
		func(p *[linkCount]linkAER, n *uint32) uint32 { return l.fn.LinkAER(id, n, &p[0]) })
	for i, e := range errors[:count] {
		setPort(r, i, gpu.PortCorrected, float64(e.Corrected))
		setPort(r, i, gpu.PortUncorrected, float64(e.Uncorrected))
	}
	place, err := getStruct(l, "mxSmlGetMetaXLinkTopo", l.fn.LinkTopo != nil,
		func(p *linkTopo) uint32 { return l.fn.LinkTopo(id, p) })
	if err == nil {
		r.Measures.Set(gpu.WiringID, float64(place.TopologyID))
		r.Measures.Set(gpu.SocketID, float64(place.SocketID))
	}
}

// measureSlices adds what the slices measure.
func (l *Library) measureSlices(id uint32, r *mxsml.Reading) {
	if l.fn.SGPUCount == nil {
		return
	}
	count := l.fn.SGPUCount(id)
	if count > gpu.MaxSlices {
		return
	}
	for index := uint32(0); index < gpu.MaxSlices && uint32(len(r.Slices)) < count; index++ {
		info, err := getStruct(l, "mxSmlGetSgpuInfo", l.fn.SGPUInfo != nil,
			func(p *sgpuInfo) uint32 { return l.fn.SGPUInfo(id, index, p) })
		if err != nil {
			continue
		}
		minor := int(info.Minor)
		s := gpu.SliceReading{Index: int(index), Minor: &minor}
		if hundredths, err := getStruct(l, "mxSmlGetSgpuUsage", l.fn.SGPUUsage != nil,
			func(p *int32) uint32 { return l.fn.SGPUUsage(id, index, p) }); err == nil {
			s.Measures.Set(gpu.SlicePercent, float64(hundredths)/100)
		}
		if memory, err := getStruct(l, "mxSmlGetSgpuMemory", l.fn.SGPUMemory != nil,
			func(p *sgpuMemory) uint32 { return l.fn.SGPUMemory(id, index, p) }); err == nil {
			s.Measures.Set(gpu.UsedKiB, float64(memory.Used)/1024)
			s.Measures.Set(gpu.TotalKiB, float64(memory.Total)/1024)
		}
		r.Slices = append(r.Slices, s)
	}
}

// addCounters adds RAS registers, PCI events and optical modules. Of the registers of errors,
// the library lists all; like the vendor's exporter, those without an error are left out.
func (l *Library) addCounters(id uint32, r *mxsml.Reading) {
	add := func(kind, of, name string, value float64) {
		r.Counters = append(r.Counters, gpu.Counter{Kind: kind, Type: of, Name: name, Value: value})
	}
	errors, err := getStruct(l, "mxSmlGetRasErrorData", l.fn.RASErrors != nil,
		func(p *rasErrors) uint32 { return l.fn.RASErrors(id, p) })
	if err == nil && errors.Size >= 0 && errors.Size <= rasCount {
		for _, e := range errors.Register[:errors.Size] {
			if e.Corrected != 0 {
				add(gpu.CountRAS, gpu.Corrected, registerName(e.Unit, e.Index), float64(e.Corrected))
			}
			if e.Uncorrected != 0 {
				add(gpu.CountRAS, gpu.Uncorrected, registerName(e.Unit, e.Index), float64(e.Uncorrected))
			}
		}
	}
	status, err := getStruct(l, "mxSmlGetRasStatusData", l.fn.RASStatus != nil,
		func(p *rasStatus) uint32 { return l.fn.RASStatus(id, p) })
	if err == nil && status.Size >= 0 && status.Size <= rasCount {
		for _, s := range status.Register[:status.Size] {
			add(gpu.RASStatus, "", registerName(s.Unit, s.Index), float64(uint32(s.Data)))
		}
	}
	for kind, of := range gpu.PCITypes {
		events, count, err := getArray[[pciCount]pciEvent](l, "mxSmlGetPciEventInfo", l.fn.PCIEvents != nil, pciCount,
			func(p *[pciCount]pciEvent, n *uint32) uint32 { return l.fn.PCIEvents(id, uint32(kind), &p[0], n) })
		if err != nil {
			continue
		}
		for _, e := range events[:count] {
			if name, err := fieldText("mxSmlGetPciEventInfo", e.Name[:]); err == nil {
				add(gpu.CountPCI, of, name, float64(e.Count))
			}
		}
	}
	modules, count,
		_ := getArray[[opticalCount]opticalModule](l, "mxSmlGetOpticalModuleStatus", l.fn.Optical != nil, opticalCount,
		func(p *[opticalCount]opticalModule, n *uint32) uint32 { return l.fn.Optical(id, &p[0], n) })
	for i, m := range modules[:count] {
		add(gpu.OpticalC, "", strconv.Itoa(i), float64(m.Temperature)/100)
	}
}

// registerName is the name of a register as the vendor's exporter has it.
func registerName(unit, index uint32) string {
	if unit < uint32(len(rasUnits)) {
		return fmt.Sprintf("%s reg%d", rasUnits[unit], index)
	}
	return fmt.Sprintf("unit%d reg%d", unit, index)
}

// getArray calls a function that fills a T, which is an array, and says how many of its items
// it filled; 0 after an error, and where the library says more than it was given room for.
func getArray[T any](l *Library, function string, has bool, room int,
	call func(*T, *uint32) uint32,
) (array T, count int, err error) {
	size := uint32(room)
	array, err = getStruct(l, function, has, func(p *T) uint32 { return call(p, &size) })
	if err != nil || int64(size) > int64(room) {
		return array, 0, err
	}
	return array, int(size), nil
}
