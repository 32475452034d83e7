// SPDX-License-Identifier: Apache-2.0

package gpu_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

func TestParseBDF(t *testing.T) {
	for text, want := range map[string]gpu.BDF{
		"0000:00:00.0":     {},
		"0000:0e:00.0":     {Bus: 0x0e},
		"0000:0E:1F.7":     {Bus: 0x0e, Device: 0x1f, Function: 7},
		"ffff:ff:1f.7":     {Domain: 0xffff, Bus: 0xff, Device: 0x1f, Function: 7},
		"10000:01:00.0":    {Domain: 0x10000, Bus: 1},
		"ffffffff:01:00.0": {Domain: 0xffffffff, Bus: 1},
		"00000000:0E:00.0": {Bus: 0x0e},
		"00010000:01:00.0": {Domain: 0x10000, Bus: 1},
	} {
		got, err := gpu.ParseBDF(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
		if got.String() != canonical(text) {
			t.Errorf("%q is printed as %q", text, got)
		}
	}
}

// canonical is an address as sysfs writes it.
func canonical(text string) string {
	text = strings.ToLower(text)
	for len(text) > len("0000:00:00.0") && text[0] == '0' {
		text = text[1:]
	}
	return text
}

func TestParseBDFRejects(t *testing.T) {
	for _, text := range []string{
		"", "0e:00.0", "0000:0e:00", "0000:0e:00:0", "0000:0e.00.0", "0000:0e:00.", ":0e:00.0",
		"000:0e:00.0", "00000:0e:00.0", "010000:0e:00.0", "100000000:0e:00.0",
		"0000:e:00.0", "0000:00e:00.0", "0000:0e:0.0", "0000:0e:000.0", "0000:0e:00.00",
		"0000:0e:20.0", "0000:0e:ff.0", "0000:0e:00.8", "0000:0e:00.g", "000g:0e:00.0",
		"+000:0e:00.0", "-000:0e:00.0", "0000:+e:00.0", "0x00:0e:00.0", "0_00:0e:00.0",
		" 0000:0e:00.0", "0000:0e:00.0 ", "0000:0e:00.0\n", "0000:0e:00.0\x00", "0000:0e:00.0.0", "００００:0e:00.0",
	} {
		if got, err := gpu.ParseBDF(text); !errors.Is(err, gpu.ErrBDF) {
			t.Errorf("%q gives %v, %v; want ErrBDF", text, got, err)
		}
	}
}

func TestBDFCompare(t *testing.T) {
	order := []gpu.BDF{
		{},
		{Function: 7},
		{Device: 1},
		{Device: 31, Function: 7},
		{Bus: 1},
		{Bus: 255, Device: 31},
		{Domain: 1},
		{Domain: 0xffff, Bus: 1},
		{Domain: 0x10000},
		{Domain: 0xffffffff, Bus: 255, Device: 31, Function: 7},
	}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); got != compare(i, j) {
				t.Errorf("%s to %s is %d, want %d", a, b, got, compare(i, j))
			}
		}
	}
	shuffled := []gpu.BDF{order[5], order[0], order[9], order[3], order[1], order[8], order[2], order[7], order[4], order[6]}
	slices.SortFunc(shuffled, gpu.BDF.Compare)
	if diff := cmp.Diff(order, shuffled); diff != "" {
		t.Error(diff)
	}
}

func compare(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}

func TestBDFText(t *testing.T) {
	data, err := json.Marshal(map[string]gpu.BDF{"at": {Bus: 0x0e}})
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != `{"at":"0000:0e:00.0"}` {
		t.Errorf("JSON is %s", data)
	}
	var back map[string]gpu.BDF
	if err := json.Unmarshal(data, &back); err != nil || back["at"] != (gpu.BDF{Bus: 0x0e}) {
		t.Errorf("read back as %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"at":"0e:00.0"}`), &back); !errors.Is(err, gpu.ErrBDF) {
		t.Errorf("error is %v, want ErrBDF", err)
	}
}

func FuzzParseBDF(f *testing.F) {
	for _, text := range []string{"0000:0e:00.0", "10000:FF:1f.7", "0000:0e:00", "", "00000:0e:00.0", "00000000:0e:00.0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := gpu.ParseBDF(text)
		if err != nil {
			if b != (gpu.BDF{}) {
				t.Errorf("%q gives %v besides an error", text, b)
			}
			return
		}
		if b.String() != canonical(text) || b.Device > 31 || b.Function > 7 {
			t.Errorf("%q is read as %v", text, b)
		}
	})
}
