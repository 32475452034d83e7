// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// The units of measures, as how many of the base unit they are.
const (
	kib     = 1 << 10
	percent = 0.01
	mega    = 1e6
	giga    = 1e9
)

// rendering is how a measure becomes a series.
type rendering struct {
	of     gpu.Measure
	family Family
	unit   float64
	labels []string
}

// ofMeasures are the measures of a GPU.
var ofMeasures = []rendering{
	{of: gpu.ClockMHz, family: Clock, unit: mega, labels: []string{"compute"}},
	{of: gpu.MemoryClockMHz, family: Clock, unit: mega, labels: []string{"memory"}},
	{of: gpu.EncoderMHz, family: Clock, unit: mega, labels: []string{"encoder"}},
	{of: gpu.DecoderMHz, family: Clock, unit: mega, labels: []string{"decoder"}},
	{of: gpu.ThrottleReasons, family: Throttled, unit: 1, labels: nil},
	{of: gpu.DPMLevel, family: Level, unit: 1, labels: nil},
	{of: gpu.EncoderPercent, family: CodecUse, unit: percent, labels: []string{"encoder"}},
	{of: gpu.DecoderPercent, family: CodecUse, unit: percent, labels: []string{"decoder"}},
	{of: gpu.HBMC, family: HBMTemperature, unit: 1, labels: nil},
	{of: gpu.BoardC, family: BoardTemp, unit: 1, labels: nil},
	{of: gpu.SystemUsedKiB, family: SystemUsed, unit: kib, labels: nil},
	{of: gpu.SystemTotalKiB, family: SystemTotal, unit: kib, labels: nil},
	{of: gpu.PCIeGTps, family: PCIeSpeed, unit: giga, labels: nil},
	{of: gpu.PCIeLanes, family: PCIeLanes, unit: 1, labels: nil},
	{of: gpu.PCIeMaxGTps, family: PCIeMaxSpeed, unit: giga, labels: nil},
	{of: gpu.PCIeMaxLanes, family: PCIeMaxLanes, unit: 1, labels: nil},
	{of: gpu.PCIeTxMBps, family: PCIeRate, unit: mega, labels: []string{"tx"}},
	{of: gpu.PCIeRxMBps, family: PCIeRate, unit: mega, labels: []string{"rx"}},
	{of: gpu.EthTxMBps, family: EthernetRate, unit: mega, labels: []string{"tx"}},
	{of: gpu.EthRxMBps, family: EthernetRate, unit: mega, labels: []string{"rx"}},
}

// ofPorts are the measures of a port, whose number is the first label.
var ofPorts = []rendering{
	{of: gpu.PortGTps, family: PortSpeed, unit: giga, labels: nil},
	{of: gpu.PortLanes, family: PortLanes, unit: 1, labels: nil},
	{of: gpu.PortTxMBps, family: PortRate, unit: mega, labels: []string{"tx"}},
	{of: gpu.PortRxMBps, family: PortRate, unit: mega, labels: []string{"rx"}},
	{of: gpu.PortTxBytes, family: PortBytes, unit: 1, labels: []string{"tx"}},
	{of: gpu.PortRxBytes, family: PortBytes, unit: 1, labels: []string{"rx"}},
	{of: gpu.PortCorrected, family: PortErrors, unit: 1, labels: []string{gpu.Corrected}},
	{of: gpu.PortUncorrected, family: PortErrors, unit: 1, labels: []string{gpu.Uncorrected}},
}

// sendMeasures sends the further values of a GPU.
func sendMeasures(send send, r gpu.Reading) {
	renderMeasures(send, ofMeasures, r.Measures)
	for _, p := range r.Ports {
		renderMeasures(send, ofPorts, p.Measures, strconv.Itoa(p.Number))
	}
	for _, c := range r.Counters {
		switch c.Kind {
		case gpu.CountRAS:
			send(RASErrors, c.Value, c.Name, c.Type)
		case gpu.RASStatus:
			send(RASStatus, c.Value, c.Name)
		case gpu.CountLog:
			send(LogErrors, c.Value, c.Name, c.Type)
		case gpu.LogEID:
			send(LogEID, c.Value, c.Name)
		case gpu.CountPCI:
			send(PCIEvents, c.Value, c.Type, c.Name)
		case gpu.OpticalC:
			send(OpticalTemp, c.Value, c.Name)
		}
	}
}

func renderMeasures(send send, renderings []rendering, m gpu.Measures, labels ...string) {
	for _, r := range renderings {
		if value, ok := m[r.of]; ok {
			send(r.family, value*r.unit, append(labels[:len(labels):len(labels)], r.labels...)...)
		}
	}
}

// sendSlices sends what is known of a GPU's slices.
func (s Snapshot) sendSlices(send func(f Family, value float64, user User, more ...string), g gpu.GPU, r gpu.Reading) {
	for _, of := range g.Slices {
		if of.Kind != gpu.SliceSGPU {
			continue
		}
		user, index := s.SliceUsers[of.UUID], strconv.Itoa(of.Index)
		if of.ComputePercent > 0 {
			send(SliceCompute, float64(of.ComputePercent)*percent, user, index, of.UUID)
		}
		m := sliceMeasures(of, r)
		for _, v := range []rendering{{of: gpu.SlicePercent, family: SliceUse, unit: percent, labels: nil}, {
			of:     gpu.UsedKiB,
			family: SliceUsed, unit: kib, labels: nil,
		}, {of: gpu.TotalKiB, family: SliceTotal, unit: kib, labels: nil}} {
			if value, ok := m[v.of]; ok {
				send(v.family, value*v.unit, user, index, of.UUID)
			}
		}
	}
}

// sliceMeasures are those of a slice; how much memory it has is also known without a reading.
func sliceMeasures(of gpu.Slice, r gpu.Reading) gpu.Measures {
	m := gpu.Measures{}
	for _, read := range r.Slices {
		if read.Index == of.Index {
			for k, value := range read.Measures {
				m.Set(k, value)
			}
		}
	}
	if of.MemoryMiB > 0 {
		m.Set(gpu.TotalKiB, float64(of.MemoryMiB<<10))
	}
	return m
}
