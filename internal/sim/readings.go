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
// on all healthy GPUs might have. They depend only on the node and the
// number of the look. An unhealthy GPU has none.
func Readings(n gpu.Node, look int) []gpu.Reading {
	graph, _ := topology.New(n)
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
		r := gpu.Reading{BDF: g.BDF, UtilizationPercent: &load, TemperatureC: &temperature, PowerW: &power, PowerLimitW: &limit, LinksUp: &up, ECC: &gpu.ECC{}}
		if total := g.MemoryMiB; total > 0 {
			used := min(826+total*load/110, total)
			r.MemoryUsedMiB, r.MemoryTotalMiB = &used, &total
		}
		out = append(out, r)
	}
	return out
}
