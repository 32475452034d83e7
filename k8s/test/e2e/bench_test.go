// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/test/placement"
	"github.com/metax-ctk/container-toolkit/test/report"
)

const (
	benchPairs = 30
	benchIdle  = 5 * time.Minute
)

// TestBench measures the programs of the chart on a node, and asserts nothing.
func TestBench(t *testing.T) {
	if os.Getenv(figuresVariable) == "" {
		t.Skip("measures: needs " + figuresVariable + ", the file for the figures")
	}
	n := newNode(t, "c500-8")
	n.install(t)
	starts := n.measureStarts(t)
	idle := n.measureIdle(t)
	record(t, func(f *placement.Figures) { f.Starts, f.Idle = starts, idle })
	t.Logf("%+v, %+v", starts, idle)
}

// measureStarts starts pods with four GPUs, each next to one without.
func (n *node) measureStarts(t *testing.T) placement.Starts {
	t.Helper()
	n.starts(t, "warm", 4)
	var without, with, differences []float64
	for i := range benchPairs {
		both := [2]float64{}
		for j := range both {
			gpus := (i + j) % 2 * 4 // each is first in every second pair
			both[gpus/4] = n.starts(t, fmt.Sprintf("pod-%d-%d", i, j), gpus)
		}
		without, with, differences = append(without, both[0]), append(with, both[1]), append(differences, both[1]-both[0])
	}
	return placement.Starts{
		Pairs: benchPairs, Without: at(without, 0.5), With: at(with, 0.5),
		Difference: at(differences, 0.5), Quartiles: [2]float64{at(differences, 0.25), at(differences, 0.75)},
	}
}

// starts returns after how many nanoseconds a pod has written its report, and removes the pod.
func (n *node) starts(t *testing.T, name string, gpus int) float64 {
	t.Helper()
	begin := time.Now()
	n.create(t, probePod(name, gpus, "look"))
	n.phase(t, name, corev1.PodSucceeded)
	info, err := os.Stat(n.Path(path.Join(reports, name, report.Look)))
	if err != nil {
		t.Fatal(err)
	}
	n.remove(t, name)
	return float64(info.ModTime().Sub(begin))
}

// measureIdle measures the programs of the chart while nothing happens.
func (n *node) measureIdle(t *testing.T) map[string]placement.Idle {
	t.Helper()
	programs := map[string]string{
		"metax-gpu-device": "^/metax-gpu-device run", "metax-gpu-device health": "^/metax-gpu-device health", "metax-gpu-label": "^/metax-gpu-label",
	}
	ticks := func() map[string]int {
		all := map[string]int{}
		for name, pattern := range programs {
			stat := n.must(t, "sh", "-c", "cat /proc/$(pgrep -f '"+pattern+"')/stat")
			fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
			for _, field := range fields[11:13] { // in user mode and in the kernel
				n, err := strconv.Atoi(field)
				if err != nil {
					t.Fatal(err)
				}
				all[name] += n
			}
		}
		return all
	}
	time.Sleep(30 * time.Second) // what the last pod caused ends
	before, begin := ticks(), time.Now()
	time.Sleep(benchIdle)
	after, elapsed := ticks(), time.Since(begin).Seconds()
	idle := map[string]placement.Idle{}
	for name, pattern := range programs {
		var kibibytes int64
		line := n.must(t, "sh", "-c", "grep RssAnon /proc/$(pgrep -f '"+pattern+"')/status")
		if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &kibibytes); err != nil {
			t.Fatal(err)
		}
		idle[name] = placement.Idle{CPU: float64(after[name]-before[name]) / 100 / elapsed, Memory: kibibytes << 10} // a tick is 10 ms
	}
	return idle
}

// at is the value below which a share of the values lie.
func at(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(share*float64(len(sorted)-1))]
}
