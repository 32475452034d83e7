// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

func TestParseSectionsSample(t *testing.T) {
	got, err := ParseSections(sample(t, "count-ecc.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := Log{
		Sections: []Section{{gputest.BDF(t, "0000:08:00.0"), []Entry{
			{"SRAM Correctable", "0"},
			{"Double Bit ECC", "0"},
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseSections(t *testing.T) {
	a, b := gputest.BDF(t, "0000:08:00.0"), gputest.BDF(t, "0000:09:00.0")
	for _, test := range []struct {
		name, text string
		want       []Section
		warnings   []string // a part of each
	}{
		{
			"tabs and carriage returns", "GPU#0\tMXC500\t0000:08:00.0\r\n\r\n\tChip Temperature\r\n\t    hotspot(sensor0)  :  39.00 C\r\nEnd of Log\r\n",
			[]Section{{a, []Entry{{"hotspot(sensor0)", "39.00 C"}}}},
			nil,
		},
		{
			"headings do not count",
			"GPU#0 MXC500 0000:08:00.0\n  Serial : S1\n  Inner\n    Key : 1\n  Outer : 2\n",
			[]Section{{a, []Entry{{"Serial", "S1"}, {"Key", "1"}, {"Outer", "2"}}}},
			nil,
		},
		{
			"values with colons and none", "GPU#0 MXC500 0000:08:00.0\n Bus : 0000:08:00.0\n Empty :\n",
			[]Section{{a, []Entry{{"Bus", "0000:08:00.0"}, {"Empty", ""}}}},
			nil,
		},
		{
			"nothing counts behind the end", "GPU#0 MXC500 0000:08:00.0\n K : 1\nEnd of Log\n K : 2\n",
			[]Section{{a, []Entry{{"K", "1"}}}},
			nil,
		},
		{
			"sliced GPUs are left out", "GPU#0 MXC500 0000:08:00.0\n K : 1\nSGPU#0 of GPU#0\n K : 2\nGPU#1 MXC500 0000:09:00.0\n K : 3",
			[]Section{{a, []Entry{{"K", "1"}}}, {b, []Entry{{"K", "3"}}}},
			nil,
		},
		{
			"a GPU that cannot be told", "GPU#0 MXC500\n K : 1\nGPU#1 MXC500 0000:9:00.0\n K : 2\nGPU#2 MXC500 0000:09:00.0\n K : 3",
			[]Section{{b, []Entry{{"K", "3"}}}},
			[]string{"line 1: ignored a section", `line 3: ignored a section: parse "0000:9:00.0"`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseSections(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Sections); diff != "" {
				t.Error(diff)
			}
			gputest.WantWarnings(t, test.warnings, got.Warnings)
		})
	}
	for _, text := range []string{"End of Log", "End of Log\nGPU#0 MXC500 0000:08:00.0"} {
		if _, err := ParseSections(text); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: error is %v, want ErrFormat", text, err)
		}
	}
}

func TestSerial(t *testing.T) {
	for _, test := range []struct {
		name    string
		entries []Entry
		want    string
		bad     bool
	}{
		{"none", []Entry{{"Model Name", "MXC500"}}, "", false},
		{"plain", []Entry{{"Serial Number", "S1"}}, "S1", false},
		{"short", []Entry{{"Board SN", "S1"}}, "S1", false},
		{"the board's, not the chip's", []Entry{{"Chip Serial", "C1"}, {"Board Serial", "B1"}}, "B1", false},
		{"labels of the EEPROM", []Entry{{"asic serial number", "C1"}, {"pcba serial number", "B1"}}, "B1", false},
		{"the chip's alone", []Entry{{"Board Serial", "N/A"}, {"Chip Serial", "C1"}}, "C1", false},
		{"no word of its own", []Entry{{"Snapshot", "1"}, {"DSN", "2"}}, "", false},
		{"not stated", []Entry{{"Serial Number", "N/A"}}, "", false},
		{"blanks", []Entry{{"Serial Number", "S 1"}}, "", true},
		{"a control character", []Entry{{"Serial Number", "S\x07"}}, "", true},
		{"a comma", []Entry{{"Serial Number", "S1,S2"}}, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Section{Entries: test.entries}.Serial()
			if got != test.want || (err != nil) != test.bad {
				t.Errorf("got %q, %v; want %q, error %v", got, err, test.want, test.bad)
			}
		})
	}
}

func TestMemoryMiB(t *testing.T) {
	for _, test := range []struct {
		name    string
		entries []Entry
		want    int
		bad     bool
	}{
		{"none", []Entry{{"vram used", "1024 KB"}}, 0, false},
		{"KB", []Entry{{"vis_vram total", "1024 KB"}, {"vram total", "67108864 KB"}, {"xtt total", "4096 KB"}}, 65536, false},
		{"visible only", []Entry{{"vis_vram total", "67108864 KB"}}, 65536, false},
		{"MiB", []Entry{{"Memory Capacity", "65536 MiB"}}, 65536, false},
		{"GB, no blank", []Entry{{"Memory Capacity", "64GB"}}, 65536, false},
		{"not stated", []Entry{{"vram total", "N/A"}}, 0, false},
		{"no unit", []Entry{{"Memory Capacity", "65536"}}, 0, true},
		{"no number", []Entry{{"Memory Capacity", "MiB"}}, 0, true},
		{"negative", []Entry{{"Memory Capacity", "-1 GB"}}, 0, true},
		{"too large", []Entry{{"Memory Capacity", "99999999999999999999 KB"}}, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Section{Entries: test.entries}.MemoryMiB()
			if got != test.want || (err != nil) != test.bad {
				t.Errorf("got %d, %v; want %d, error %v", got, err, test.want, test.bad)
			}
		})
	}
}

func FuzzParseSections(f *testing.F) {
	f.Add(sample(f, "count-ecc.txt"))
	f.Add("GPU#0 MXC500 0000:08:00.0\n Board SN : S1\n vram total : 64 GB\nSGPU#0\n K : 1\nGPU#\n")
	f.Fuzz(func(t *testing.T, text string) {
		log, err := ParseSections(text)
		if err != nil {
			return
		}
		for _, s := range log.Sections {
			if serial, err := s.Serial(); err != nil && serial != "" || serial != "" && !gpu.ValidSerial(serial) {
				t.Errorf("serial number %q, %v", serial, err)
			}
			if mib, err := s.MemoryMiB(); mib < 0 || err != nil && mib != 0 {
				t.Errorf("memory %d, %v", mib, err)
			}
		}
		oneLine(t, log.Warnings)
	})
}
