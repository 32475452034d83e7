package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/metax-ctk/container-toolkit/test/report"
)

const (
	benchPairs = 30
	benchIdle  = 5 * time.Minute
)

// figures are what TestBench measures. Times are in milliseconds from the creation of a pod to its first
// instruction.
type figures struct {
	Without, With float64 // medians of pods without a GPU and with four
	// Difference is the median of the differences of pairs, and Quartiles are those around it.
	Difference float64
	Quartiles  [2]float64
	Idle       map[string]idle // by program
}

// idle is what a process needs while no pod comes or goes: percent of one processor, and MiB that are its
// own (RssAnon).
type idle struct{ CPU, Memory float64 }

// TestBench measures and asserts nothing. METAX_K8S_STARTS names the file that the figures go to.
func TestBench(t *testing.T) {
	file := os.Getenv("METAX_K8S_STARTS")
	if file == "" {
		t.Skip("needs METAX_K8S_STARTS, the file for the figures")
	}
	n := newNode(t, "c500-8")
	n.install(t)
	f := figures{Idle: map[string]idle{}}
	n.measureStarts(t, &f)
	n.measureIdle(t, &f)
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// measureStarts starts pods with four GPUs, each next to one without.
func (n *node) measureStarts(t *testing.T, f *figures) {
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
	f.Without, f.With, f.Difference = at(without, 0.5), at(with, 0.5), at(differences, 0.5)
	f.Quartiles = [2]float64{at(differences, 0.25), at(differences, 0.75)}
}

// starts returns after how many milliseconds a pod has written its report, and removes the pod.
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
	return float64(info.ModTime().Sub(begin).Microseconds()) / 1000
}

// measureIdle measures the programs of the chart while nothing happens.
func (n *node) measureIdle(t *testing.T, f *figures) {
	t.Helper()
	programs := map[string]string{"plugin": "^/metax-gpu-device run", "reader": "^/metax-gpu-device health", "label": "^/metax-gpu-label"}
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
	for name, pattern := range programs {
		var kibibytes float64
		line := n.must(t, "sh", "-c", "grep RssAnon /proc/$(pgrep -f '"+pattern+"')/status")
		if _, err := fmt.Sscanf(line, "RssAnon: %f kB", &kibibytes); err != nil {
			t.Fatal(err)
		}
		f.Idle[name] = idle{float64(after[name]-before[name]) / elapsed, kibibytes / 1024} // a tick is a hundredth of a second
	}
}

// at is the value below which a share of the values lie.
func at(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(share*float64(len(sorted)-1))]
}
