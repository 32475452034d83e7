// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"errors"
	"io/fs"
	"reflect"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/layout"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// attributes is a GPU whose driver has these attributes.
func attributes(smi map[string]string) (files, gpu.Node) {
	f := files{}
	for name, text := range smi {
		f["/sys/bus/pci/devices/0000:0e:00.0/smi/"+name] = text
	}
	n := gpu.NewNode("")
	n.GPUs = []gpu.GPU{{BDF: gpu.BDF{Bus: 0x0e}, Slices: []gpu.Slice{{Kind: gpu.SliceSGPU, Index: 1}}}}
	return f, n
}

// TestFill: a file that is absent, denied, empty or not understood gives nothing, and no 0.
// Each is compared with the vendor's library in test/vendorlib.
func TestFill(t *testing.T) {
	for name, test := range map[string]struct {
		smi  map[string]string
		want gpu.Measures
	}{
		"one": {map[string]string{"pmdecsrc": "reason: 12\n"}, gpu.Measures{gpu.ThrottleReasons: 12}},
		"broken": {map[string]string{
			"pmdecsrc": "", "showuse": "encoder:\ndecoder: x\n", "showtemp": "hotspot\n", "pcicurrentlinkspeed": "Unknown\n", "showboardpowerinfo": "way: 1 2\n",
			"showmetalkspeed": "port1\n", "showmetalkaer": "value: x\n", "ras_show_mem_ecc_info": "Not Supported\n", "showxcuse": "xcore: zz\n",
			"showmeminfo": "not support\n", "sgpu1/utilization": "\n",
		}, nil},
		"impossible": {map[string]string{"showuse": "encoder: 101\n", "showtemp": "hotspot: 30001\n", "pcicurrentlinkwidth": "65\n", "pmdecsrc": "reason: -1\n"}, nil},
		"negative":   {map[string]string{"showtemp": "hbm: -1050\n"}, gpu.Measures{gpu.HBMC: -10.5}},
		"mc alone":   {map[string]string{"showclocks": "mc: 900 7\n"}, gpu.Measures{gpu.MemoryClockMHz: 900}},
	} {
		f, n := attributes(test.smi)
		got, late := layout.Fill(f, n, nil)
		if late != nil {
			t.Error(late)
		}
		var want []gpu.Reading
		if test.want != nil {
			want = []gpu.Reading{{BDF: n.GPUs[0].BDF, Measures: test.want}}
		}
		if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Slices" || p.String() == "TemperatureC" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	f, n := attributes(map[string]string{"pmdecsrc": "reason: 12\n"})
	f["/sys/bus/pci/devices/0000:0e:00.0/smi/pmdecsrc"] = error(fs.ErrPermission)
	if got, late := layout.Fill(f, n, nil); len(got) != 0 || late != nil {
		t.Errorf("denied: %+v, %v", got, late)
	}
}

// TestFillOnlyMissing: what another source said stays, and its file is not read.
func TestFillOnlyMissing(t *testing.T) {
	f, n := attributes(map[string]string{"pmdecsrc": "reason: 12\n", "pcicurrentlinkwidth": "8\n"})
	readings := []gpu.Reading{{BDF: n.GPUs[0].BDF, Measures: gpu.Measures{gpu.ThrottleReasons: 3}}}
	got, _ := layout.Fill(f, n, readings)
	if diff := cmp.Diff(gpu.Measures{gpu.ThrottleReasons: 3, gpu.PCIeLanes: 8}, got[0].Measures); diff != "" {
		t.Error(diff)
	}
}

// TestFillLate: nothing is read after a file that does not answer.
func TestFillLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, n := attributes(map[string]string{"pmdecsrc": "reason: 12\n", "showtopology": "a: 1\nb: 2\n"})
		h := hanging{f, "/sys/bus/pci/devices/0000:0e:00.0/smi/pmdecsrc", make(chan struct{})}
		defer close(h.never)
		got, late := layout.Fill(h, n, nil)
		if !errors.Is(late, layout.ErrLate) || len(got) != 0 {
			t.Errorf("%+v, %v", got, late)
		}
	})
}

// FuzzFill: no content of an attribute gives a value that no GPU has.
func FuzzFill(f *testing.F) {
	for _, text := range []string{"port1: 16\n", "label: 1 2 3\n", "total 4096\nused 1\nfree 1\n", ":\n: \n", "x: 99999999999999999999\n", "a: 0xff\n", "\xff: NaN\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		smi := map[string]string{}
		for _, name := range []string{"showxcuse", "showmeminfo", "showtemp", "showboardpowerinfo", "showuse", "showclocks", "showmetalkspeed", "showmetalkaer", "metalki_traffic_stat", "ras_show_mem_ecc_info", "sgpu1/meminfo", "sgpu1/utilization"} {
			smi[name] = text
		}
		files, n := attributes(smi)
		got, _ := layout.Fill(files, n, nil)
		for _, r := range got {
			checked := r
			if checked.Check(); !reflect.DeepEqual(r, checked) {
				t.Errorf("%q: %+v", text, r)
			}
		}
	})
}
