package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/rival"
)

// compared is a comparison whose figures can be told from each other.
func compared(gpus int, allocators ...string) rival.Comparison {
	c := rival.Comparison{Node: "tree", GPUs: gpus, Weights: "kind", Sets: 7, Questions: 9, Common: 8}
	for _, name := range allocators {
		c.Records = append(c.Records, rival.Record{
			Allocator: name, Asked: 8, None: 1, Wrong: 2, Best: 3, BestFull: 4, LowerClass: 1, Lower: 5,
			Took:        figure.Summary{Unit: figure.Nanoseconds, Runs: 8, Median: 1.5e3, P99: 2.5e6, Worst: 3.5e9},
			Allocations: figure.Summary{Unit: figure.Count, Runs: 8, Median: 11, Worst: 1313},
			AllFree:     append([]float64{0}, timesOf(gpus)...),
		})
	}
	return c
}

// timesOf are so many times, of which the third is missing.
func timesOf(n int) []float64 {
	times := make([]float64, n)
	for i := range times {
		if i != 2 {
			times[i] = 1000 * float64(i+1)
		}
	}
	return times
}

// TestAllocatorsSection holds the pages to what was compared, and to be pages without it.
func TestAllocatorsSection(t *testing.T) {
	results, err := loadResults()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		results.Allocators = nil
		without, err := p.render(results)
		if err != nil {
			t.Fatal(err)
		}
		results.Allocators = []rival.Comparison{compared(12, "spread", "best effort")}
		with, err := p.render(results)
		if err != nil {
			t.Fatal(err)
		}
		const plot = "allocators.svg"
		if bytes.Contains(without, []byte(plot)) || !bytes.Contains(with, []byte(plot)) {
			t.Errorf("%s: the picture is shown without a comparison, or not with one", p.template)
		}
		for _, cells := range []string{
			"| 1.50 µs | 2.50 ms | 3.50 s | – | 11 | 1313 |", // time and allocations
			"| 8 of 9 | 1 | 2 | 0 | 60 % | 80 % | 20 % | 100 % |",
		} {
			if cells = p.words(cells); strings.Count(string(with), cells) != 2 {
				t.Errorf("%s: %q does not stand there twice", p.template, cells)
			}
		}
	}
}

// words puts a line of the English page into the page's language.
func (p page) words(line string) string {
	if strings.Contains(p.template, ".zh.") {
		return strings.ReplaceAll(line, "8 of 9", "8 / 9")
	}
	return line
}

func TestPlotAllocators(t *testing.T) {
	one := compared(12, "spread", "best effort", "simple")
	svg := string(plotAllocators([]rival.Comparison{one, compared(12, "spread"), compared(14, "spread")}))
	if n := strings.Count(svg, ">12 GPUs<"); n != 1 {
		t.Errorf("%d panels of 12 GPUs, want one", n)
	}
	// Two lines of 11 dots and one of 13.
	if n := strings.Count(svg, "<circle"); n != 35 {
		t.Errorf("%d dots, want 35", n)
	}
}

func TestAllocatorsAloneArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"-sets=0", "x"}, {"a", "b"}, {"-no", "x"}} {
		if err := allocatorsAlone(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
