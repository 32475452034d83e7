// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"runtime"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

func TestParseBench(t *testing.T) {
	text := fmt.Sprintf(`goos: linux
pkg: example
BenchmarkPick/8/quads-%[1]d   	  630354	        10.5 ns/op	      96 B/op	       2 allocs/op
BenchmarkPick/8/quads-%[1]d   	  630354	        12.5 ns/op	        99.0 µs-p99	      96 B/op	       2 allocs/op
BenchmarkScan-%[1]d   	  1	        7 ns/op	      0 B/op	       0 allocs/op
PASS
`, runtime.GOMAXPROCS(0))
	got, err := parseBench(text, "p/")
	if err != nil {
		t.Fatal(err)
	}
	want := figure.Set{
		"p/Pick/8/quads":        {Unit: figure.Nanoseconds, Runs: 2, Median: 11.5, P95: 12.5, P99: 12.5, Worst: 12.5, Low: 10.5, High: 12.5},
		"p/Pick/8/quads/allocs": {Unit: figure.Count, Runs: 2, Median: 2, P95: 2, P99: 2, Worst: 2, Low: 2, High: 2},
		"p/Scan":                {Unit: figure.Nanoseconds, Runs: 1, Median: 7, P95: 7, P99: 7, Worst: 7, Low: 7, High: 7},
		"p/Scan/allocs":         {Unit: figure.Count, Runs: 1},
	}
	if !maps.Equal(want, got) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestParseBenchErrors(t *testing.T) {
	for _, text := range []string{
		"PASS\n",
		"BenchmarkX 1 x ns/op 0 B/op 0 allocs/op\n",
		"BenchmarkX 1 7 MB/s 0 B/op 0 allocs/op\n",
	} {
		if got, err := parseBench(text, ""); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
}
