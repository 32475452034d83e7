// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/test/gputest"
)

func TestParseID(t *testing.T) {
	for text, want := range map[string]uint64{"0x9999": 0x9999, "0x0": 0, "0xffff": 0xffff, "0xABCD": 0xabcd} {
		if got, err := parseID("vendor", text, 16); err != nil || got != want {
			t.Errorf("%q gives %#x, %v; want %#x", text, got, err, want)
		}
	}
	for _, text := range []string{"", "9999", "0x", "0x10000", "0x-1", "0x+1", "0x 1", "0xzz", "X9999"} {
		if got, err := parseID("vendor", text, 16); err == nil {
			t.Errorf("%q gives %#x, want an error", text, got)
		}
	}
}

func TestIsGPU(t *testing.T) {
	for class, want := range map[uint64]bool{
		0x030000: true, 0x038000: true, 0x120000: true, 0x1200ff: true,
		0x060400: false, 0x020000: false, 0x000003: false, 0x131200: false, 0x040300: false,
	} {
		if got := isGPU(class); got != want {
			t.Errorf("class %#06x: %v, want %v", class, got, want)
		}
	}
}

func TestModel(t *testing.T) {
	for device, want := range map[uint64]string{
		0x4000: "MXC550", 0x4001: "MXC500", 0x4081: "MXC280", 0x4083: "MXN260", 0x00ab: "9999:00ab",
	} {
		if got := modelName(device); got != want {
			t.Errorf("device %#04x is %q, want %q", device, got, want)
		}
	}
}

func TestParseNUMA(t *testing.T) {
	for text, want := range map[string]int{"": -1, "-1": -1, "0": 0, "7": 7} {
		if got, err := parseNUMA(text); err != nil || got != want {
			t.Errorf("%q gives %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"-2", "x", "0-1", "0x1", "99999999999999999999"} {
		if got, err := parseNUMA(text); err == nil || got != gpu.NUMAUnknown {
			t.Errorf("%q gives %d, %v; want unknown and an error", text, got, err)
		}
	}
}

func TestParsePlace(t *testing.T) {
	self := gputest.BDF(t, "0000:0e:00.0")
	port, up, down := gputest.BDF(t, "0000:0a:03.0"), gputest.BDF(t, "0000:0c:00.0"), gputest.BDF(t, "0000:0d:00.0")
	for _, test := range []struct {
		name, place, root string
		bridges           []gpu.BDF
	}{
		{"behind a switch", "/sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00.0", "pci0000:0a", []gpu.BDF{port, up, down}},
		{"below a root port", "/sys/devices/pci0000:0a/0000:0a:03.0/0000:0e:00.0", "pci0000:0a", []gpu.BDF{port}},
		{"on the root bus", "/sys/devices/pci0000:0e/0000:0e:00.0", "pci0000:0e", nil},
		{"a bridge of a device tree", "/sys/devices/platform/soc/40000000.pcie/pci0000:0a/0000:0a:03.0/0000:0e:00.0", "pci0000:0a", []gpu.BDF{port}},
		{"a domain of its own", "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:0a/0000:0a:03.0/0000:0e:00.0", "pci10000:0a", []gpu.BDF{port}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root, bridges, err := parsePlace(test.place, self)
			if err != nil {
				t.Fatal(err)
			}
			if root != test.root {
				t.Errorf("root is %q, want %q", root, test.root)
			}
			if diff := cmp.Diff(test.bridges, bridges); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, place := range []string{
		"", "/", "/sys/bus/pci/devices/0000:0e:00.0", "/sys/devices/pci0000:0a",
		"/sys/devices/pci0000:0a/0000:0a:03.0", "/sys/devices/pci0000:0a/0000:0f:00.0",
		"/sys/devices/pci0000:0a/bridge/0000:0e:00.0", "/sys/devices/pci/0000:0e:00.0", "/sys/devices/pci0000:0g/0000:0e:00.0",
	} {
		if root, bridges, err := parsePlace(place, self); err == nil {
			t.Errorf("%q gives %q, %v; want an error", place, root, bridges)
		}
	}
}

func TestNearestSwitch(t *testing.T) {
	path := []gpu.BDF{{Bus: 1}, {Bus: 2}, {Bus: 3}, {Bus: 4}, {Bus: 5}}
	for n, want := range map[int]int{0: -1, 1: -1, 2: 1, 3: 1, 4: 2, 5: 3} {
		got := nearestSwitch(path[:n])
		switch {
		case want < 0 && got != nil, want >= 0 && (got == nil || *got != path[want]):
			t.Errorf("%d bridges: %v, want that at %d", n, got, want)
		}
	}
}

func TestSortDRM(t *testing.T) {
	nodes := []drmNode{{name: "renderD130"}, {name: "card10"}, {name: "renderD128"}, {name: "card9"}}
	sortDRM(nodes)
	want := []string{"card9", "card10", "renderD128", "renderD130"}
	if !slices.EqualFunc(nodes, want, func(n drmNode, name string) bool { return n.name == name }) {
		t.Errorf("got %v, want %v", nodes, want)
	}
	for _, name := range []string{"", "card", "card01", "card-1", "card1-DP-1", "controlD64", "renderD", "renderD+1", "card1048576", "by-path"} {
		if kind, minor, ok := parseDRM(name); ok {
			t.Errorf("%q is %s %d, want none", name, kind, minor)
		}
	}
}

func FuzzParsePlace(f *testing.F) {
	f.Add("/sys/devices/pci0000:0a/0000:0a:03.0/0000:0c:00.0/0000:0d:00.0/0000:0e:00.0")
	f.Add("/sys/devices/pci0000:00/0000:00:0e.0/pci10000:00/10000:00:02.0/0000:0e:00.0")
	self := gpu.BDF{Bus: 0x0e}
	f.Fuzz(func(t *testing.T, place string) {
		root, bridges, err := parsePlace(place, self)
		if err != nil {
			return
		}
		if !isHostBridge(root) || slices.Contains(bridges, gpu.BDF{}) && nearestSwitch(bridges) == nil && len(bridges) > 1 {
			t.Errorf("%q gives %q, %v", place, root, bridges)
		}
	})
}
