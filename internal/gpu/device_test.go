// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"strings"
	"testing"
)

// TestModels: each id has one model, and each virtual function's id none of a GPU.
func TestModels(t *testing.T) {
	for device, want := range map[uint16]string{
		0x4000: "MXC550", 0x4001: "MXC500", 0x4019: "MXC500 VF", 0x4018: "MXC550 VF", 0x4081: "MXC280", 0x4080: "MXC290", 0x4098: "MXC290 VF",
		0x4100: "MXC600", 0x4118: "", 0x0a01: "MXN100", 0x0a18: "MXN100 VF", 0x0a1b: "MXN100E VF", 0x4085: "", 0: "",
	} {
		if got := ModelOf(device); got != want {
			t.Errorf("%04x: %q, want %q", device, got, want)
		}
	}
	if len(models) != 14 {
		t.Errorf("%d models", len(models))
	}
	for device, name := range models {
		if !strings.HasPrefix(name, "MX") || DeviceOf(name) != device {
			t.Errorf("%04x is %q, which is %04x", device, name, DeviceOf(name))
		}
		if vf := VFDevice(device); vf != device && models[vf] != "" {
			t.Errorf("virtual functions of %s have the id %04x of %s", name, vf, models[vf])
		}
	}
	if DeviceOf("other") != 0 || VFDevice(0x4085) != 0x4085 {
		t.Error("an unknown model has an id")
	}
}
