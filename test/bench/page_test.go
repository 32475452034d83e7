// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
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
		got, err := os.ReadFile(filepath.Join(source, p.path))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s is not what its template makes of the results; write it anew: test/bench/run pages", p.path)
		}
	}
}

// Busy hosts are on the pages once they have been measured.
func TestBusy(t *testing.T) {
	results, err := loadResults()
	if err != nil {
		t.Fatal(err)
	}
	ms := func(value float64) figure.Summary {
		return figure.Summarise(figure.Nanoseconds, []float64{value * 1e6})
	}
	rows := []figure.Busy{{
		Containers: 25,
		Processes:  780, Descriptors: 10_000,
		Start: ms(25), StartCPU: ms(40), Look: ms(36), Loop: ms(30),
	}}
	const want = "| 25 | 780 | 10000 | 25.0 ms | 40.0 ms | 36.0 ms | 30.0 ms | 1.20 |\n\n## "
	for _, p := range pages {
		for _, busy := range [][]figure.Busy{nil, rows} {
			results.Busy = busy
			text, err := p.render(results)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), want) != (busy != nil) {
				t.Errorf("%s with %d rows:\n%s", p.path, len(busy), text)
			}
		}
	}
}

func TestGoal(t *testing.T) {
	const name, base = "toolkit/generate/8", "toolkit/mx-smi/8" // 20 ms beyond the base
	for median, verdict := range map[float64]string{26.9e6: "| yes |", 27e6: "| yes |", 27.1e6: "| no |"} {
		figures := figure.Set{
			name: figure.Summarise(figure.Nanoseconds, []float64{median}),
			base: figure.Summarise(figure.Nanoseconds, []float64{7e6}),
		}
		table := tables{page{met: "yes", missed: "no"}, Results{Figures: figures}}
		line, err := table.goalLine(name, "it")
		if err != nil || !strings.HasSuffix(line, "| ≤ 20 ms "+verdict) {
			t.Errorf("%v ns: %q, %v", median, line, err)
		}
		if line, err := table.goalLine("nothing", "it"); err == nil {
			t.Errorf("no such figure gives %q", line)
		}
	}
}

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		part, whole int
		want        string
	}{
		{0, 0, "–"},
		{0, 5000, "0 %"},
		{1, 5000, "< 0.1 %"},
		{1, 3, "33.3 %"},
		{1, 2, "50 %"},
		{4999, 5000, "> 99.9 %"},
		{5000, 5000, "100 %"},
	} {
		if got := share(tc.part, tc.whole); got != tc.want {
			t.Errorf("%d of %d: got %q, want %q", tc.part, tc.whole, got, tc.want)
		}
	}
}
