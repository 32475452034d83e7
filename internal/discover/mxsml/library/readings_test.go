// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/mxsml"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/simtest"
	"github.com/metax-ctk/container-toolkit/test/standin"
)

// TestReadings: values that the library does not report, or that no GPU can have, are
// missing and not 0.
func TestReadings(t *testing.T) {
	run := program(t)
	n := simtest.Node(t, "sim:1x1x2")
	for _, test := range []struct {
		fault string
		want  string // of the first GPU; the library numbers GPUs in reverse
	}{
		{"", "11% 1024/65536 MiB 42C 72/350W 3 up 1+2+3+4+5"},
		{"code mxSmlGetDeviceIpUsage 3", "- 1024/65536 MiB 42C 72/350W 3 up 1+2+3+4+5"},
		{"count mxSmlGetDeviceIpUsage 101", "- 1024/65536 MiB 42C 72/350W 3 up 1+2+3+4+5"},
		{"count mxSmlGetDeviceIpUsage -1", "- 1024/65536 MiB 42C 72/350W 3 up 1+2+3+4+5"},
		{"code mxSmlGetMemoryInfo 4", "11% -/- MiB 42C 72/350W 3 up 1+2+3+4+5"},
		{"count mxSmlGetTemperatureInfo -4051", "11% 1024/65536 MiB -41C 72/350W 3 up 1+2+3+4+5"},
		{"count mxSmlGetTemperatureInfo 99999", "11% 1024/65536 MiB - 72/350W 3 up 1+2+3+4+5"},
		{"count mxSmlGetBoardPowerInfo 17", "11% 1024/65536 MiB 42C -/350W 3 up 1+2+3+4+5"},
		{"count mxSmlGetBoardPowerInfo 0", "11% 1024/65536 MiB 42C -/350W 3 up 1+2+3+4+5"},
		{"code mxSmlGetBoardPowerInfo 10", "11% 1024/65536 MiB 42C -/350W 3 up 1+2+3+4+5"},
		{"count mxSmlGetBoardPowerLimit 0", "11% 1024/65536 MiB 42C 72/-W 3 up 1+2+3+4+5"},
		{"code mxSmlGetMetaXLinkInfo 3", "11% 1024/65536 MiB 42C 72/350W - 1+2+3+4+5"},
		{"code mxSmlGetTotalEccErrors 3", "11% 1024/65536 MiB 42C 72/350W 3 up -"},
		{"overrun mxSmlGetBoardPowerInfo 1", "mxSmlGetBoardPowerInfo wrote more bytes than its structure has"},
		{"crash mxSmlGetTemperatureInfo 0", "it crashed"},
	} {
		var faults []string
		if test.fault != "" {
			faults = []string{test.fault}
		}
		r := mxsml.Reader{Run: run, Path: standin.Build(t, t.TempDir(), n, faults...), Timeout: time.Minute}
		readings, err := r.Readings(t.Context())
		got := fmt.Sprint(err)
		if err == nil {
			if len(readings) != 2 || readings[0].BDF != n.GPUs[0].BDF || readings[1].BDF != n.GPUs[1].BDF {
				t.Fatalf("%s: got %+v", test.fault, readings)
			}
			got = line(readings[0])
		}
		if err != nil && strings.Contains(got, test.want) {
			continue
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s: %s", test.fault, d)
		}
	}
	lib := standin.Build(t, t.TempDir(), n)
	for _, function := range []string{"mxSmlGetDeviceIpUsage", "mxSmlGetTemperatureInfo", "mxSmlGetBoardPowerInfo", "mxSmlGetBoardPowerLimit"} {
		standin.Without(t, lib, function)
	}
	readings, err := mxsml.Reader{Run: run, Path: lib, Timeout: time.Minute}.Readings(t.Context())
	if err != nil || len(readings) != 2 || line(readings[0]) != "- 1024/65536 MiB - -/-W 3 up 1+2+3+4+5" {
		t.Errorf("an old library: %+v, %v", readings, err)
	}
}

// line is a reading in a line, "-" for what is missing.
func line(r gpu.Reading) string {
	word := func(v *int, unit string) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v) + unit
	}
	ecc := "-"
	if e := r.ECC; e != nil {
		ecc = fmt.Sprintf("%d+%d+%d+%d+%d", e.SRAMCorrected, e.SRAMUncorrected, e.DRAMCorrected, e.DRAMUncorrected, e.RetiredPages)
	}
	return fmt.Sprintf("%s %s/%s MiB %s %s/%sW %s %s", word(r.UtilizationPercent, "%"), word(r.MemoryUsedMiB, ""), word(r.MemoryTotalMiB, ""),
		word(r.TemperatureC, "C"), word(r.PowerW, ""), word(r.PowerLimitW, ""), word(r.LinksUp, " up"), ecc)
}
