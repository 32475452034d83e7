package main

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/svg"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/plot"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/rival"
)

// plotPath is where the picture of the allocators stands.
const plotPath = "docs/allocators.svg"

// drawn are the allocators in the picture, in the order of their lines.
var drawn = []struct {
	allocator string
	style     plot.Style
}{
	{"best effort", plot.Style{Name: "go-gpuallocator, best effort", Color: svg.Amber}},
	{"spread", plot.Style{Name: "metax-ctk, spread", Color: svg.Indigo}},
}

// plotAllocators draws how long a pick takes with all GPUs free, a panel for each number of
// GPUs: the first node of so many.
func plotAllocators(all []rival.Comparison) []byte {
	chart := plot.Chart{
		Title: "Time of one pick, all GPUs free",
		X:     "over the number of GPUs asked for",
		Tick:  func(value float64) string { return figure.Nanoseconds.Exact(value) },
	}
	for _, d := range drawn {
		chart.Styles = append(chart.Styles, d.style)
	}
	seen := map[int]bool{}
	for _, c := range all {
		if seen[c.GPUs] {
			continue
		}
		seen[c.GPUs] = true
		panel := plot.Panel{Title: fmt.Sprintf("%d GPUs", c.GPUs), Lines: make([][]float64, len(drawn))}
		for i, d := range drawn {
			for _, r := range c.Records {
				if r.Allocator == d.allocator {
					panel.Lines[i] = r.AllFree[1:]
				}
			}
		}
		chart.Panels = append(chart.Panels, panel)
	}
	return chart.SVG()
}
