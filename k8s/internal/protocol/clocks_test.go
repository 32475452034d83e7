// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/testfile"
)

// served is what metax-exporter serves by its own test.
func served(t testing.TB) []byte {
	t.Helper()
	return testfile.Read(t, "../exporter/metrics/testdata/in-use.txt")
}

func TestParseClocks(t *testing.T) {
	got, err := ParseClocks(served(t))
	want := map[int]Clock{
		0: {"GPU-749be189-e3ab-faf9-1bc2-6959c4d1cf7f", gpu.Measures{gpu.ClockMHz: 1500, gpu.ThrottleReasons: 0}},
		1: {"GPU-2711d374-fbea-5346-c15e-675a4d41bc23", gpu.Measures{gpu.ClockMHz: 1300, gpu.ThrottleReasons: 1}},
		2: {"GPU-fd72a109-4fb8-5872-1494-b2b7eadcf8e5", gpu.Measures{gpu.ClockMHz: 1300, gpu.ThrottleReasons: 1}},
		3: {"GPU-825aeea0-74af-0f5d-a4fc-909ceaaf8d5b", gpu.Measures{gpu.ClockMHz: 1300, gpu.ThrottleReasons: 1}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	// Without readings, no GPU has a clock, and a value that no clock has is not one.
	const typed = "# TYPE metax_gpu_clock_hertz gauge\n"
	for text, want := range map[string]map[int]Clock{
		"": {},
		typed + `metax_gpu_clock_hertz{gpu="5",unit="memory"} 1` + "\n":    {},
		typed + `metax_gpu_clock_hertz{gpu="5",unit="compute"} NaN` + "\n": {5: {}},
		typed + `metax_gpu_clock_hertz{gpu="5",unit="compute"} -1` + "\n":  {5: {}},
	} {
		if got, err := ParseClocks([]byte(text)); err != nil || !maps.EqualFunc(got, want, func(a, b Clock) bool { return cmp.Equal(a, b) }) {
			t.Errorf("%q gives %v, %v", text, got, err)
		}
	}
}

func TestParseClocksRejects(t *testing.T) {
	for _, text := range []string{
		"<html>", "# TYPE metax_gpu_clock_hertz gauge\nmetax_gpu_clock_hertz{gpu=\"0\",unit=\"compute\"} fast\n",
		"metax_gpu_clock_hertz{gpu=\"0\",unit=\"compute\"} 1\n", // of no type
		"# TYPE metax_gpu_clock_hertz gauge\nmetax_gpu_clock_hertz{gpu=\"a\",unit=\"compute\"} 1\n",
		"# TYPE metax_gpu_clock_throttle_reasons gauge\nmetax_gpu_clock_throttle_reasons{gpu=\"99999\"} 1\n",
		strings.Repeat("\n", MaxMetrics+1),
	} {
		if got, err := ParseClocks([]byte(text)); !errors.Is(err, ErrMetrics) || got != nil || len(err.Error()) > 300 {
			t.Errorf("%.80q gives %v, %v", text, got, err)
		}
	}
}

func FuzzParseClocks(f *testing.F) {
	f.Add(served(f))
	f.Add([]byte("# TYPE metax_gpu_clock_hertz summary\nmetax_gpu_clock_hertz_sum 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		clocks, err := ParseClocks(text)
		if err != nil && !errors.Is(err, ErrMetrics) {
			t.Error(err)
		}
		for index, c := range clocks {
			if mhz, ok := c.Measures[gpu.ClockMHz]; index < 0 || index >= gpu.MaxGPUs || (ok && !(mhz >= 0)) {
				t.Errorf("GPU %d: %v", index, c)
			}
		}
	})
}
