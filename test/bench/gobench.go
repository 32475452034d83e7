package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/test/bench/internal/figure"
)

// benchmarks are the packages whose own Go benchmarks count.
var benchmarks = []string{"internal/discover", "internal/cdi", "internal/alloc", "internal/dockerargs"}

// benchRuns is how often each benchmark runs; a run gives the mean of many turns.
const benchRuns = 20

// inProcess runs Go benchmarks. A figure's name is go/PACKAGE/BENCHMARK, and that with
// /allocs for how often it allocates.
func inProcess() (figure.Set, error) {
	set := figure.Set{}
	for _, dir := range benchmarks {
		text, err := output(exec.Command("go", "test", "./"+dir, "-run", "^$", "-bench", ".", "-benchmem",
			"-benchtime", "50ms", "-count", strconv.Itoa(benchRuns)))
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

// parseBench reads the lines of go test, such as
// "BenchmarkPick/8/quads-2   630354   93.77 ns/op   96 B/op   2 allocs/op".
func parseBench(text, prefix string) (figure.Set, error) {
	times, allocs := map[string][]float64{}, map[string][]float64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 8 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		if words[3] != "ns/op" || words[7] != "allocs/op" {
			return nil, fmt.Errorf("read benchmark line %q: want ns/op and allocs/op", line)
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		name = prefix + strings.TrimSuffix(name, "-"+strconv.Itoa(runtime.GOMAXPROCS(0)))
		for column, into := range map[int]map[string][]float64{2: times, 6: allocs} {
			value, err := strconv.ParseFloat(words[column], 64)
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
