// SPDX-License-Identifier: Apache-2.0

package mxsml

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// answer is a complete Answer about two GPUs, whose numbers are in reverse order of
// their addresses.
func answer() Answer {
	yes, no := true, false
	return Answer{
		Version: Version, Driver: "3.4.4", MACA: "3.3.0.15",
		Devices: []Device{
			{ID: 0, BDF: "0000:09:00.0", UUID: "GPU-b", Name: "MXC500", Mode: ModeNative, BoardSerial: "SB", ChipSerial: "CB", MemoryKiB: 67108864, Available: &yes, MetaXLink: "enabled"},
			{ID: 1, BDF: "0000:08:00.0", UUID: "GPU-a", Name: "MXC500", Mode: ModeNative, ChipSerial: "CA", MemoryKiB: 33554432, Available: &no},
		},
		Links: []Pair{{0, 1, 5}},
	}
}

func TestDecode(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Answer)
		want   string // in the error; empty if there is no error
	}{
		"as it is":               {func(*Answer) {}, ""},
		"of tomorrow":            {func(a *Answer) { a.Version = "metax-ctk/mxsml/v2" }, `version "metax-ctk/mxsml/v2"`},
		"an id twice":            {func(a *Answer) { a.Devices[1].ID = 0 }, "device 0 occurs twice"},
		"a negative id":          {func(a *Answer) { a.Devices[1].ID = -1 }, "device number -1"},
		"an id beyond":           {func(a *Answer) { a.Devices[1].ID = 256 }, "device number 256"},
		"a link to nobody":       {func(a *Answer) { a.Links[0].B = 2 }, "between devices 0 and 2"},
		"a link to itself":       {func(a *Answer) { a.Links[0].B = 0 }, "between devices 0 and 0"},
		"too many links":         {func(a *Answer) { a.Links = make([]Pair, 5) }, "5 links; at most 4"},
		"negative memory":        {func(a *Answer) { a.Devices[0].MemoryKiB = -1 }, "has -1 KiB"},
		"memory in bytes":        {func(a *Answer) { a.Devices[0].MemoryKiB = 64 << 40 }, "KiB"},
		"an escape":              {func(a *Answer) { a.Devices[0].Name = "MX\x1b[2J" }, `text "MX\x1b[2J"`},
		"a letter beyond ASCII":  {func(a *Answer) { a.Warnings = []string{"沐曦"} }, "not printable"},
		"a long text":            {func(a *Answer) { a.Driver = strings.Repeat("1", 1025) }, "too long"},
		"too many warnings":      {func(a *Answer) { a.Warnings = make([]string, 1001) }, "1001 warnings"},
		"too many slices":        {func(a *Answer) { a.Devices[0].Slices = make([]Slice, 17) }, "17 slices"},
		"a slice twice":          {func(a *Answer) { a.Devices[0].Slices = []Slice{{Index: 1}, {Index: 1}} }, "slice number 1"},
		"a slice 16":             {func(a *Answer) { a.Slice = &Slice{Index: 16} }, "slice number 16"},
		"a slice of 101 percent": {func(a *Answer) { a.Slice = &Slice{ComputePercent: 101} }, "101 %"},
		"a slice of no size":     {func(a *Answer) { a.Slice = &Slice{MemoryMiB: -1} }, "-1 MiB"},
		"a slice's escape":       {func(a *Answer) { a.Slice = &Slice{Alias: "\x07"} }, "not printable"},
		"a failure's escape":     {func(a *Answer) { a.Failure = &Failure{Text: "\n"} }, "not printable"},
		"too many functions":     {func(a *Answer) { a.Devices[0].VFs = make([]int, 129) }, "129 virtual functions"},
		"too many devices": {func(a *Answer) {
			a.Devices = nil
			for id := range 257 {
				a.Devices = append(a.Devices, Device{ID: id})
			}
		}, "257 devices; at most 256"},
	} {
		t.Run(name, func(t *testing.T) {
			a := answer()
			test.change(&a)
			text, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Decode(text)
			if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrFormat) || !strings.Contains(fmt.Sprint(err), test.want)) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
	for _, text := range []string{"", "{}", "null", "[]", `{"version": 1}`, `{"version":"metax-ctk/mxsml/v1"} x`} {
		if _, err := Decode([]byte(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: error is %v", text, err)
		}
	}
	if _, err := Decode([]byte(`{"version":"metax-ctk/mxsml/v1","of":"tomorrow"}`)); err != nil {
		t.Errorf("a field of tomorrow: %v", err)
	}
}

// FuzzDecode: every decoded answer gives a Node that can be printed and read again.
func FuzzDecode(f *testing.F) {
	whole := answer()
	whole.Devices[0].Slices = []Slice{{Index: 3, UUID: "GPU-b-3", Alias: "a", ComputePercent: 10, MemoryMiB: 128}}
	whole.Devices = append(whole.Devices, Device{ID: 100, BDF: "0000:0a:00.0", Mode: ModePF, VFs: []int{2}}, Device{ID: 2, BDF: "0000:0a:00.1", Mode: ModeVF})
	for _, a := range []Answer{answer(), whole, {Version: Version, Failure: &Failure{Function: "mxSmlInit", Code: 2}}} {
		text, err := json.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Decode(data)
		if err != nil {
			return
		}
		checkNode(t, a.Node())
		if a.Failure != nil && a.Failure.asError() == nil {
			t.Error("a failure without an error")
		}
	})
}
