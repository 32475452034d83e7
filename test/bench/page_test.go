package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

// TestPages keeps the pages what the results and the templates say.
func TestPages(t *testing.T) {
	results, err := loadResults()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		want, err := p.render(results)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(p.path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is not what its template makes of the results; write it anew: test/bench/run pages", p.path)
		}
	}
}

func TestGoal(t *testing.T) {
	const name = "wrapper/none" // 3 ms
	for median, verdict := range map[float64]string{2.9e6: "| yes |", 3e6: "| yes |", 3.1e6: "| no |"} {
		figures := figure.Set{name: figure.Summarise(figure.Nanoseconds, []float64{median})}
		table := tables{page{met: "yes", missed: "no"}, Results{Figures: figures}}
		line, err := table.goal(name, "it")
		if err != nil || !strings.HasSuffix(line, "| ≤ 3 ms "+verdict) {
			t.Errorf("%v ns: %q, %v", median, line, err)
		}
		if line, err := table.goal("nothing", "it"); err == nil {
			t.Errorf("no such figure gives %q", line)
		}
	}
}
