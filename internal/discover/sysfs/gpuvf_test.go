// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

var vf1, vf2 = gpu.BDF{Bus: 0x36, Function: 1}, gpu.BDF{Bus: 0x36, Function: 2}

func TestCompareVFs(t *testing.T) {
	const one, two = "VF #1\nBusId:0000:36:00.1\nVF State:Active\n", "VF #2\nBusId:0000:36:00.2\nVF State:Active\n"
	for list, want := range map[string][]string{
		"":        nil,
		one + two: nil,
		"VF #1\r\n" + one + "other: x\n" + two + "BusId:x\nVF State:Gone\n": nil,
		one: {"virtual function 0000:36:00.2: the driver of GPU 0000:36:00.0 does not list it in gpuvf"},
		one + strings.ReplaceAll(two, "Active", "Inactive"): {`virtual function 0000:36:00.2: its state is "Inactive" in gpuvf of GPU 0000:36:00.0`},
		one + two + strings.ReplaceAll(two, "00.2", "00.3"): {"virtual function 0000:36:00.3: the driver of GPU 0000:36:00.0 lists it in gpuvf, but the kernel does not have it"},
	} {
		r := &reader{}
		r.compareVFs(gpu.GPU{BDF: gpu.BDF{Bus: 0x36}, VFs: []gpu.BDF{vf1, vf2}}, list)
		if diff := cmp.Diff(want, r.warnings); diff != "" {
			t.Errorf("%q: %s", list, diff)
		}
	}
}

func FuzzVFList(f *testing.F) {
	f.Add("VF #1\nBusId:0000:36:00.1\nVF State:Active\n")
	f.Fuzz(func(t *testing.T, text string) {
		for b := range parseVFList(text) {
			if !strings.Contains(strings.ToLower(text), b.String()) || b == (gpu.BDF{}) {
				t.Errorf("%q has no %s", text, b)
			}
		}
	})
}
