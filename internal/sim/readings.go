// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// Holders are the made-up users of Readings: two containers, each on half of the healthy GPUs.
func Holders(n gpu.Node) (holders []usage.Holder) {
	healthy := slices.DeleteFunc(slices.Clone(n.GPUs), func(g gpu.GPU) bool { return !g.Healthy })
	half := (len(healthy) + 1) / 2
	for i, name := range []string{"train", "serve"} {
		c := usage.Container{Engine: "simulation", ID: name, State: usage.Running, Facts: usage.Facts{Name: name}}
		for _, g := range [][]gpu.GPU{healthy[:half], healthy[half:]}[i] {
			c.GPUs = append(c.GPUs, g.BDF)
		}
		holders = append(holders, usage.Holder{GPUs: c.GPUs, Container: &c})
	}
	return holders
}

// Readings are made-up readings of the node's GPUs at a look, numbered from 0: those that jobs
// on all healthy GPUs might have. They depend only on the node and the number of the look. An
// unhealthy GPU has none.
func Readings(n gpu.Node, look int) []gpu.Reading {
	graph, _ := topology.New(n)
	links := linksByGPU(n, graph)
	var out []gpu.Reading
	for i, g := range n.GPUs {
		if !g.Healthy {
			continue
		}
		// A load that rises and falls over 24 looks, later on each further GPU.
		load := 50 + int(math.Round(45*math.Sin(2*math.Pi*float64(look+3*i)/24)))
		up := 0
		for j := range n.GPUs {
			if graph.Kind(i, j) == topology.MX && i != j {
				up++
			}
		}
		limit := 350
		temperature, power := 35+load/2, 57+load*(limit-57)/100
		r := gpu.Reading{
			BDF: g.BDF, UtilizationPercent: &load, TemperatureC: &temperature, PowerW: &power,
			PowerLimitW: &limit, LinksUp: &up, ECC: &gpu.ECC{},
		}
		if total := g.MemoryMiB; total > 0 {
			used := min(826+total*load/110, total)
			r.MemoryUsedMiB, r.MemoryTotalMiB = &used, &total
			r.Measures = gpu.Measures{gpu.UsedKiB: float64(used << 10), gpu.TotalKiB: float64(total << 10)}
		}
		measure(&r, g, links[i], load, look)
		out = append(out, r)
	}
	return out
}

// measure adds what else a GPU measures under a load in percent. Clocks are lower, for reason
// 1, when it is hot.
func measure(r *gpu.Reading, g gpu.GPU, link metaxlink, load, look int) {
	clock, throttled := 1500, 0
	if load > 80 {
		clock, throttled = 1300, 1
	}
	for of, value := range map[gpu.Measure]int{
		gpu.SystemUsedKiB: 4 << 10, gpu.SystemTotalKiB: 64 << 20, gpu.Milliwatt: *r.PowerW * 1000,
		gpu.HotspotC: *r.TemperatureC, gpu.HBMC: *r.TemperatureC + 1, gpu.BoardC: *r.TemperatureC - 2,
		gpu.EncoderPercent: load / 10, gpu.DecoderPercent: load / 5,
		gpu.ClockMHz: clock, gpu.MemoryClockMHz: 1600, gpu.EncoderMHz: 600, gpu.DecoderMHz: 600,
		gpu.ThrottleReasons: throttled, gpu.DPMLevel: 5 - throttled,
		gpu.PCIeGTps: 32, gpu.PCIeLanes: 16, gpu.PCIeMaxGTps: 32, gpu.PCIeMaxLanes: 16, gpu.PCIeTxMBps: 10 * load,
		gpu.PCIeRxMBps: 20 * load,
		gpu.WiringID:   link.number, gpu.SocketID: link.socket,
	} {
		r.Measures.Set(of, float64(value))
	}
	for i, isUp := range link.isUp {
		p := r.PortOf(i + 1)
		speed, lanes, rate := 0, 0, 0
		if isUp {
			speed, lanes, rate = 32, 16, 100*load
		}
		for of, value := range map[gpu.Measure]int{
			gpu.PortGTps: speed, gpu.PortLanes: lanes, gpu.PortTxMBps: rate, gpu.PortRxMBps: rate,
			gpu.PortTxBytes: rate * 1e6 * look, gpu.PortRxBytes: rate * 1e6 * look, gpu.PortCorrected: 0, gpu.PortUncorrected: 0,
		} {
			p.Measures.Set(of, float64(value))
		}
	}
	for _, s := range g.Slices {
		if s.Kind != gpu.SliceSGPU {
			continue
		}
		minor := s.Index
		m := r.SliceOf(s.Index)
		m.Minor = &minor
		m.Measures.Set(gpu.SlicePercent, float64(load))
		m.Measures.Set(gpu.UsedKiB, float64(s.MemoryMiB<<10*load/100))
		m.Measures.Set(gpu.TotalKiB, float64(s.MemoryMiB<<10))
	}
	r.Counters = []gpu.Counter{
		{Kind: gpu.CountPCI, Type: "aer_ce", Name: "correctable", Value: 0},
		{Kind: gpu.CountPCI, Type: "aer_ue", Name: "uncorrectable", Value: 0},
	}
}
