// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// scrapeEvery is the pause between two scrapes of Prometheus in the chart and in the pages.
const scrapeEvery = 15 * time.Second

// BenchmarkScrape scrapes a host with 8 GPUs as Prometheus does, whose readings a stand-in for
// the vendor's library gives in a process of its own. The figures are how long a scrape takes,
// how much time of processors it needs, and how much of a core all costs, with the looks at the
// health between the scrapes:
//
//	go test ./cmd/metax-exporter -run '^$' -bench Scrape -benchtime 8x
func BenchmarkScrape(b *testing.B) {
	root, n := newHost(b)
	standin.Build(b, filepath.Join(root, "opt/mxdriver/lib"), n)
	b.Setenv(child.LibraryVariable, standin.Program(b, b.TempDir()))
	address := serveHost(b, root)
	if text, missing := scrapeUntil(address, "metax_gpus 8", "metax_gpu_power_watts{", `{source="readings"} 1`); missing != nil {
		b.Fatal(text)
	}
	var walls []float64
	var own time.Duration
	begin, before := time.Now(), processorTime(b)
	for b.Loop() {
		time.Sleep(scrapeEvery)
		asked, idle := time.Now(), processorTime(b)
		if get(address) == "" {
			b.Fatal("no answer")
		}
		walls = append(walls, time.Since(asked).Seconds()*1000)
		own += processorTime(b) - idle
	}
	used, elapsed := processorTime(b)-before, time.Since(begin)
	slices.Sort(walls)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(walls[len(walls)/2], "ms-median")
	b.ReportMetric(walls[0], "ms-fastest")
	b.ReportMetric(own.Seconds()*1000/float64(b.N), "cpu-ms/scrape")
	b.ReportMetric(100*used.Seconds()/elapsed.Seconds(), "%core")
}

// processorTime is what this process and those that it started have used.
func processorTime(b *testing.B) (used time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		used += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return used
}
