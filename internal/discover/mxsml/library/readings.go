// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"math"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Readings queries what each device measures now, without virtual functions. It fails if
// the library does not list the devices; a value that it does not report is missing.
func (l *Library) Readings() (mxsml.Answer, error) {
	ids, err := l.deviceIDs()
	if err != nil {
		return mxsml.Answer{}, err
	}
	if len(ids) == 0 && l.noDevice != nil {
		return mxsml.Answer{}, l.noDevice
	}
	a := mxsml.Answer{Version: mxsml.Version, Missing: l.missing}
	n := &notes{}
	for _, id := range ids {
		info, ok := l.readInfo(n, id)
		if !ok || info.Mode == modeVF {
			continue
		}
		r := l.reading(n, id, info)
		l.addMeasures(id, info, &r)
		if r.BDF, err = fieldText("mxSmlGetDeviceInfo", info.BDF[:]); err != nil {
			n.recordFailure("PCI address", id, err)
			continue
		}
		a.Readings = append(a.Readings, r)
	}
	if l.untrusted != nil {
		return mxsml.Answer{}, l.untrusted
	}
	a.Warnings = n.warningLines()
	return a, nil
}

// reading reads what a device measures. A physical function that is split reports neither its
// memory nor MetaXLink.
func (l *Library) reading(n *notes, id uint32, info deviceInfo) (r mxsml.Reading) {
	unit := uint32(usageXCore)
	if info.Brand == brandN {
		unit = usageDLA
	}
	usage, err := getStruct(l, "mxSmlGetDeviceIpUsage", l.fn.Usage != nil,
		func(p *int32) uint32 { return l.fn.Usage(id, unit, p) })
	if n.recordFailure("utilisation", id, err); err == nil {
		r.UtilizationPercent = &usage
	}
	if info.Mode != modePF {
		l.readUse(n, id, &r)
	}
	temperature, err := getStruct(l, "mxSmlGetTemperatureInfo", l.fn.Temperature != nil,
		func(p *int32) uint32 { return l.fn.Temperature(id, hotspot, p) })
	if n.recordFailure("temperature", id, err); err == nil {
		r.TemperatureCentiC = &temperature
	}
	power, err := l.power(id)
	if n.recordFailure("power", id, err); err == nil {
		r.PowerMilliwatt = &power
	}
	limit, err := getStruct(l, "mxSmlGetBoardPowerLimit", l.fn.PowerLimit != nil,
		func(p *uint32) uint32 { return l.fn.PowerLimit(id, p) })
	if n.recordFailure("power limit", id, err); err == nil {
		r.PowerLimit = &limit
	}
	r.ECC = l.eccErrors(n, id)
	return r
}

// readUse reads the memory and the ports of MetaXLink of a device.
func (l *Library) readUse(n *notes, id uint32, r *mxsml.Reading) {
	memory, err := getStruct(l, "mxSmlGetMemoryInfo", l.fn.Memory != nil,
		func(p *memoryInfo) uint32 { return l.fn.Memory(id, p) })
	if n.recordFailure("memory", id, err); err == nil {
		r.MemoryUsedKiB, r.MemoryTotalKiB = &memory.VRAMUsed, &memory.VRAMTotal
		r.Measures.Set(gpu.SystemUsedKiB, float64(memory.XTTUsed))
		r.Measures.Set(gpu.SystemTotalKiB, float64(memory.XTTTotal))
	}
	ports, err := getStruct(l, "mxSmlGetMetaXLinkInfo", l.fn.LinkInfo != nil,
		func(p *linkInfo) uint32 { return l.fn.LinkInfo(id, p) })
	if n.recordFailure("ports", id, err); err == nil {
		up := 0
		for i := range linkCount {
			if finiteOrZero(ports.Speed[i]) > 0 && ports.Width[i] > 0 {
				up++
			}
			setPort(r, i, gpu.PortGTps, float64(ports.Speed[i]))
			setPort(r, i, gpu.PortLanes, float64(ports.Width[i]))
		}
		r.LinksUp = &up
	}
}

// power is the sum over all ways of the board, in mW.
func (l *Library) power(id uint32) (uint32, error) {
	count := uint32(len(powerWays{}))
	ways, err := getStruct(l, "mxSmlGetBoardPowerInfo", l.fn.Power != nil,
		func(p *powerWays) uint32 { return l.fn.Power(id, &count, &p[0]) })
	if err != nil {
		return 0, err
	}
	if count == 0 || int(count) > len(ways) {
		return 0, fmt.Errorf("mxSmlGetBoardPowerInfo returned %d ways", count)
	}
	var sum uint64
	for _, w := range ways[:count] {
		sum += uint64(w.Power)
	}
	return uint32(min(sum, math.MaxUint32)), nil
}
