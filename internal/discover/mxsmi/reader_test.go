// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

// answers is a tool that prints these texts, by its arguments, and fails for other
// arguments.
type answers map[string]string

func (a answers) run(_ context.Context, path string, args ...string) ([]byte, error) {
	text, ok := a[strings.Join(args, " ")]
	if !ok {
		return nil, errors.New("run " + path + " " + strings.Join(args, " ") + ": exit status 1")
	}
	return []byte(text), nil
}

// twoGPUs are a tool's answers on a host of two GPUs, which the tool numbers in reverse
// order of addresses.
func twoGPUs() answers {
	return answers{
		"-L":            "GPU#0 MXC500 0000:09:00.0 Available (UUID: GPU-b)\nGPU#1 MXC500 0000:08:00.0 Unavailable (UUID: GPU-a)\n",
		"topo -m":       "GPU0 GPU1 Node Affinity CPU Affinity\nGPU0 X MX 0 0-31\nGPU1 MX X 0 0-31\n",
		"--show-sn":     "GPU#0 MXC500 0000:09:00.0\n Board Serial : SB\nGPU#1 MXC500 0000:08:00.0\n Board Serial : SA\nEnd of Log\n",
		"--show-memory": "GPU#0 MXC500 0000:09:00.0\n vram total : 67108864 KB\nGPU#1 MXC500 0000:08:00.0\n vram total : 33554432 KB\nEnd of Log\n",
	}
}

func TestReader(t *testing.T) {
	a := gpu.GPU{Index: 0, BDF: gputest.BDF(t, "0000:08:00.0"), UUID: "GPU-a", Serial: "SA", Model: "MXC500", MemoryMiB: 32768, NUMA: -1}
	b := gpu.GPU{Index: 1, BDF: gputest.BDF(t, "0000:09:00.0"), UUID: "GPU-b", Serial: "SB", Model: "MXC500", MemoryMiB: 65536, NUMA: -1, Healthy: true}
	mx := []gpu.Link{{A: 0, B: 1, Kind: "MX"}}
	for _, test := range []struct {
		name     string
		change   func(tool answers)
		want     func(a, b *gpu.GPU) []gpu.Link // changes what is expected
		warnings []string                       // a part of each
	}{
		{"all is told", func(answers) {}, func(_, _ *gpu.GPU) []gpu.Link { return mx }, nil},
		{
			"no list", func(tool answers) { delete(tool, "-L") },
			func(a, b *gpu.GPU) []gpu.Link {
				a.UUID, b.UUID, a.Model, b.Model, a.Healthy = "", "", "", "", true
				return nil
			},
			[]string{"UUIDs and health are not known: run mx-smi -L: exit status 1", "MetaXLink topology unknown"},
		},
		{
			"no matrix", func(tool answers) { delete(tool, "topo -m") },
			func(_, _ *gpu.GPU) []gpu.Link { return nil },
			[]string{"MetaXLink topology unknown; choosing by PCIe and NUMA only: run mx-smi topo -m: exit status 1"},
		},
		{
			"a matrix cut off", func(tool answers) { tool["topo -m"] = "GPU0 GPU1\nGPU0 X" },
			func(_, _ *gpu.GPU) []gpu.Link { return nil },
			[]string{"PCIe and NUMA only: read matrix of links: not understood: row GPU0 has 1 cells"},
		},
		{
			"an unknown cell is no link", func(tool answers) { tool["topo -m"] = "GPU0 GPU1\nGPU0 X NA\nGPU1 NA X" },
			func(_, _ *gpu.GPU) []gpu.Link { return nil }, nil,
		},
		{
			"a matrix of other GPUs", func(tool answers) { tool["topo -m"] = "GPU0 GPU7\nGPU0 X MX\nGPU7 MX X" },
			func(_, _ *gpu.GPU) []gpu.Link { return nil },
			[]string{"GPU#1 (0000:08:00.0) is not in the matrix", "GPU7 is in the matrix, but not in the list"},
		},
		{
			"no serial numbers", func(tool answers) { delete(tool, "--show-sn") },
			func(a, b *gpu.GPU) []gpu.Link { a.Serial, b.Serial = "", ""; return mx },
			[]string{"serial numbers are not known"},
		},
		{
			"a serial number that is none", func(tool answers) { tool["--show-sn"] = strings.Replace(tool["--show-sn"], "SA", "S A", 1) },
			func(a, _ *gpu.GPU) []gpu.Link { a.Serial = ""; return mx },
			[]string{`ignored the serial number of GPU 0000:08:00.0: "S A"`},
		},
		{
			"two serial numbers", func(tool answers) {
				tool["--show-sn"] = "GPU#1 MXC500 0000:08:00.0\n SN : SA\n" + tool["--show-sn"] + "\nGPU#1 MXC500 0000:08:00.0\n SN : SC\n"
				tool["--show-sn"] = strings.Replace(tool["--show-sn"], "End of Log", "", 1)
			},
			func(_, _ *gpu.GPU) []gpu.Link { return mx },
			[]string{"GPU 0000:08:00.0 has two serial numbers, SA and SC"},
		},
		{
			"memory of the other query", func(tool answers) {
				tool["--show-hwinfo"] = strings.ReplaceAll(tool["--show-memory"], "vram total", "Memory Capacity")
				delete(tool, "--show-memory")
			},
			func(_, _ *gpu.GPU) []gpu.Link { return mx }, nil,
		},
		{
			"no memory", func(tool answers) { delete(tool, "--show-memory") },
			func(a, b *gpu.GPU) []gpu.Link { a.MemoryMiB, b.MemoryMiB = 0, 0; return mx },
			[]string{"memory sizes are not known: run mx-smi --show-hwinfo: exit status 1"},
		},
		{
			"memory without a unit", func(tool answers) {
				tool["--show-memory"] = strings.ReplaceAll(tool["--show-memory"], "33554432 KB", "32768")
			},
			func(a, _ *gpu.GPU) []gpu.Link { a.MemoryMiB = 0; return mx },
			[]string{"ignored the memory size of GPU 0000:08:00.0"},
		},
		{
			"memory is not reported", func(tool answers) {
				tool["--show-memory"] = "GPU#0 MXC500 0000:09:00.0\n"
				tool["--show-hwinfo"] = "GPU#0 MXC500 0000:09:00.0\n"
			},
			func(a, b *gpu.GPU) []gpu.Link { a.MemoryMiB, b.MemoryMiB = 0, 0; return mx },
			[]string{"memory sizes are not known: mx-smi --show-memory and --show-hwinfo do not report them"},
		},
		{
			"one UUID on both", func(tool answers) { tool["-L"] = strings.ReplaceAll(tool["-L"], "GPU-b", "GPU-a") },
			func(a, b *gpu.GPU) []gpu.Link { a.UUID, b.UUID = "", ""; return mx },
			[]string{"mx-smi -L: ignored the UUID GPU-a"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			tool, a, b := twoGPUs(), a, b
			test.change(tool)
			want := Answer{Node: gpu.NewNode("")}
			want.Links = test.want(&a, &b)
			want.GPUs = append(want.GPUs, a, b)
			if _, ok := tool["-L"]; ok {
				want.Listed = []gpu.BDF{a.BDF, b.BDF}
			}
			got := Reader{Run: tool.run, Path: "mx-smi"}.Read(t.Context())
			warnings := got.Warnings
			got.Warnings = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, test.warnings, warnings)
		})
	}
}

// TestReaderOneGPU: the matrix is not queried for a single GPU.
func TestReaderOneGPU(t *testing.T) {
	tool := answers{
		"-L":            "GPU#0 MXC500 0000:09:00.0 Available (UUID: GPU-b)\n",
		"--show-sn":     "GPU#0 MXC500 0000:09:00.0\n SN : SB\n",
		"--show-memory": "GPU#0 MXC500 0000:09:00.0\n vram total : 1024 KB\n",
	}
	if got := (Reader{Run: tool.run}).Read(t.Context()); len(got.GPUs) != 1 || got.Warnings != nil {
		t.Errorf("got %v with warnings %q", got.GPUs, got.Warnings)
	}
}

func TestReaderNothing(t *testing.T) {
	got := Reader{Run: answers{}.run, Path: "mx-smi"}.Read(t.Context())
	if len(got.GPUs) != 0 || len(got.Links) != 0 {
		t.Errorf("got %v %v", got.GPUs, got.Links)
	}
	gputest.WantWarnings(t, []string{"UUIDs and health", "MetaXLink", "serial numbers", "memory sizes"}, got.Warnings)
}

// TestReaderHangs: one deadline holds for all queries. The clock moves only while the tool
// hangs.
func TestReaderHangs(t *testing.T) {
	for name, deadline := range map[string]struct{ own, callers time.Duration }{
		"own deadline": {own: time.Minute, callers: time.Hour},
		"the caller's": {own: time.Hour, callers: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				hang := func(ctx context.Context, _ string, _ ...string) ([]byte, error) {
					runs++
					<-ctx.Done()
					return nil, ctx.Err()
				}
				ctx, cancel := context.WithTimeout(t.Context(), deadline.callers)
				defer cancel()
				begin := time.Now()
				got := Reader{Run: hang, Timeout: deadline.own}.Read(ctx)
				if took := time.Since(begin); runs != 1 || took != time.Minute {
					t.Errorf("ran %d times, in %v", runs, took)
				}
				gputest.WantWarnings(t, []string{
					"UUIDs and health are not known: context deadline exceeded", "MetaXLink topology unknown",
					"mx-smi --show-sn was not run", "mx-smi --show-hwinfo was not run",
				}, got.Warnings)
			})
		})
	}
}
