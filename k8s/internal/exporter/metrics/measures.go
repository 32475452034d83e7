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
	{gpu.ClockMHz, Clock, mega, []string{"compute"}},
	{gpu.MemoryClockMHz, Clock, mega, []string{"memory"}},
	{gpu.EncoderMHz, Clock, mega, []string{"encoder"}},
	{gpu.DecoderMHz, Clock, mega, []string{"decoder"}},
	{gpu.ThrottleReasons, Throttled, 1, nil},
	{gpu.DPMLevel, Level, 1, nil},
	{gpu.EncoderPercent, CodecUse, percent, []string{"encoder"}},
	{gpu.DecoderPercent, CodecUse, percent, []string{"decoder"}},
	{gpu.HBMC, HBMTemperature, 1, nil},
	{gpu.BoardC, BoardTemp, 1, nil},
	{gpu.SystemUsedKiB, SystemUsed, kib, nil},
	{gpu.SystemTotalKiB, SystemTotal, kib, nil},
	{gpu.PCIeGTps, PCIeSpeed, giga, nil},
	{gpu.PCIeLanes, PCIeLanes, 1, nil},
	{gpu.PCIeMaxGTps, PCIeMaxSpeed, giga, nil},
	{gpu.PCIeMaxLanes, PCIeMaxLanes, 1, nil},
	{gpu.PCIeTxMBps, PCIeRate, mega, []string{"tx"}},
	{gpu.PCIeRxMBps, PCIeRate, mega, []string{"rx"}},
	{gpu.EthTxMBps, EthernetRate, mega, []string{"tx"}},
	{gpu.EthRxMBps, EthernetRate, mega, []string{"rx"}},
}

// ofPorts are the measures of a port, whose number is the first label.
var ofPorts = []rendering{
	{gpu.PortGTps, PortSpeed, giga, nil},
	{gpu.PortLanes, PortLanes, 1, nil},
	{gpu.PortTxMBps, PortRate, mega, []string{"tx"}},
	{gpu.PortRxMBps, PortRate, mega, []string{"rx"}},
	{gpu.PortTxBytes, PortBytes, 1, []string{"tx"}},
	{gpu.PortRxBytes, PortBytes, 1, []string{"rx"}},
	{gpu.PortCorrected, PortErrors, 1, []string{gpu.Corrected}},
	{gpu.PortUncorrected, PortErrors, 1, []string{gpu.Uncorrected}},
}

// measures sends the further values of a GPU.
func measures(send send, r gpu.Reading) {
	render(send, ofMeasures, r.Measures)
	for _, p := range r.Ports {
		render(send, ofPorts, p.Measures, strconv.Itoa(p.Number))
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

func render(send send, renderings []rendering, m gpu.Measures, labels ...string) {
	for _, r := range renderings {
		if value, ok := m[r.of]; ok {
			send(r.family, value*r.unit, append(labels[:len(labels):len(labels)], r.labels...)...)
		}
	}
}

// slices sends what is known of a GPU's slices.
func (s Snapshot) slices(send func(f Family, value float64, user User, more ...string), g gpu.GPU, r gpu.Reading) {
	for _, of := range g.Slices {
		if of.Kind != gpu.SliceSGPU {
			continue
		}
		user, index := s.SliceUsers[of.UUID], strconv.Itoa(of.Index)
		if of.ComputePercent > 0 {
			send(SliceCompute, float64(of.ComputePercent)*percent, user, index, of.UUID)
		}
		m := sliceMeasures(of, r)
		for _, v := range []rendering{{gpu.SlicePercent, SliceUse, percent, nil}, {gpu.UsedKiB, SliceUsed, kib, nil}, {gpu.TotalKiB, SliceTotal, kib, nil}} {
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
