// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

// benchmarks are the packages whose own Go benchmarks count. Each runs benchRuns times, and a
// run gives the mean of many turns.
var benchmarks = []string{"internal/discover", "internal/alloc/table", "internal/alloc/tree"}

const benchRuns = 20

// inProcess runs Go benchmarks. A figure's name is go/PACKAGE/BENCHMARK, and that with
// /allocs for how often it allocates.
func inProcess() (figure.Set, error) {
	set := figure.Set{}
	for _, dir := range benchmarks {
		cmd := exec.Command("go", "test", "./"+dir, "-run", "^$", "-bench", ".", "-benchmem",
			"-benchtime", "50ms", "-count", strconv.Itoa(benchRuns))
		// Files are written where a host has its /run: in memory.
		cmd.Env = append(os.Environ(), "TMPDIR=/dev/shm")
		text, err := output(cmd)
		if err != nil {
			return nil, err
		}
		found, err := parseBench(text, "go/"+dir+"/")
		if err == nil {
			err = set.Add(found)
		}
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// parseBench reads the lines of go test, such as "BenchmarkPick/8/quads-2 630354 93.77 ns/op
// 96 B/op 2 allocs/op". What a benchmark reports besides stands between these and is left out.
func parseBench(text, prefix string) (figure.Set, error) {
	times, allocs := map[string][]float64{}, map[string][]float64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		columns := map[string]int{}
		for i := 3; i < len(words); i += 2 {
			columns[words[i]] = i - 1
		}
		if columns["ns/op"] == 0 || columns["allocs/op"] == 0 {
			return nil, fmt.Errorf("read benchmark line %q: want ns/op and allocs/op", line)
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		name = prefix + strings.TrimSuffix(name, "-"+strconv.Itoa(runtime.GOMAXPROCS(0)))
		for unit, into := range map[string]map[string][]float64{"ns/op": times, "allocs/op": allocs} {
			value, err := strconv.ParseFloat(words[columns[unit]], 64)
			if err != nil {
				return nil, fmt.Errorf("read benchmark line %q: %w", line, err)
			}
			into[name] = append(into[name], value)
		}
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("no benchmark for %s in the output of go test", prefix)
	}
	set := figure.Set{}
	for name := range times {
		set[name] = figure.Summarise(figure.Nanoseconds, times[name])
		set[name+"/allocs"] = figure.Summarise(figure.Count, allocs[name])
	}
	return set, nil
}
