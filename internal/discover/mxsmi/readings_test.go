// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

// TestReadings merges the queries; what is missing or strange is nil and not 0.
func TestReadings(t *testing.T) {
	const head = "GPU#1 MXC500 0000:09:00.0\n"
	answers := map[string]string{
		"--show-usage":       "GPU#0 MXC500 0000:0a:00.0\n GPU : 12 %\n VPUE : 99 %\n" + head + " GPU : N/A\n",
		"--show-memory":      head + " vis_vram total : 1024 KB\n vram total : 67108864 KB\n vram used : 846264 KB\n",
		"--show-temperature": head + " hotspot(sensor0) : 41.50 C\n Soc : 39.00 C\n",
		"--show-board-power": head + " Total : 57.10 W\n",
	}
	run := func(_ context.Context, _ string, args ...string) ([]byte, error) {
		text, ok := answers[args[0]]
		if !ok {
			return nil, errors.New("no such option")
		}
		return []byte(text), nil
	}
	p := func(n int) *int { return &n }
	got, err := Reader{Run: run}.Readings(t.Context())
	want := []gpu.Reading{
		{BDF: gputest.BDF(t, "0000:09:00.0"), MemoryUsedMiB: p(826), MemoryTotalMiB: p(65536), TemperatureC: p(42), PowerW: p(57)},
		{BDF: gputest.BDF(t, "0000:0a:00.0"), UtilizationPercent: p(12)},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	delete(answers, "--show-memory")
	answers["--show-board-power"] = head + " Total : 57 mA\n Total : NaN W\n Total : -1 W\n"
	got, err = Reader{Run: run}.Readings(t.Context())
	want[0].MemoryUsedMiB, want[0].MemoryTotalMiB, want[0].PowerW = nil, nil, nil
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
	clear(answers)
	if got, err := (Reader{Run: run}).Readings(t.Context()); err == nil || got != nil || err.Error() != "read GPUs: no such option" {
		t.Error(got, err)
	}
}

func FuzzReadings(f *testing.F) {
	f.Add("GPU#0 MXC500 0000:08:00.0\n GPU : 12 %\n hotspot : 41.5 C\n Total : 1e5 W\n vram used : 1 KB\n")
	f.Add("GPU#0 MXC500 0000:08:00.0\n GPU : 0x1p3%\n hotspot : Inf C\nGPU#1 MXC500 0000:08:00.0\n GPU : 1%")
	f.Fuzz(func(t *testing.T, text string) {
		log, err := ParseSections(text)
		if err != nil {
			return
		}
		seen := map[gpu.BDF]bool{}
		for _, r := range readings(log.Sections) {
			if seen[r.BDF] {
				t.Errorf("%s occurs twice", r.BDF)
			}
			seen[r.BDF] = true
			for name, v := range map[string]*int{"utilisation": r.UtilizationPercent, "power": r.PowerW, "memory": r.MemoryUsedMiB, "size": r.MemoryTotalMiB} {
				if v != nil && *v < 0 {
					t.Error(fmt.Sprint(name, " ", *v))
				}
			}
		}
	})
}
