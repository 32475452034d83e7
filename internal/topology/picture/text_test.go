// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"MXC500 · 64 GiB":  "MXC500 · 64 GiB",
		"沐曦 C500":          "沐曦 C500",
		"\x1b[31mred\a\n":  "�[31mred��",
		"left\u202eright":  "left�right",
		"zero\u200bwidth":  "zero�width",
		"bad \xff byte":    "bad � byte",
		"nul\x00 del\x7f ": "nul� del� ",
	} {
		if got := terminal.Line(in); got != want {
			t.Errorf("terminal.Line(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		in, want string
		columns  int
	}{
		{"MXC500", "MXC500", 6},
		{"MXC500", "MXC5…", 5},
		{"沐曦C500", "沐曦C500", 8},
		{"沐曦C500", "沐曦C…", 6},
		{"沐曦C500", "沐曦…", 5},
		{"沐曦C500", "沐…", 4},
		{"", "", 0},
		{"MXC500", "…", 1},
	} {
		if got := shortenTo(test.in, test.columns); got != test.want {
			t.Errorf("fit(%q, %d) = %q, want %q", test.in, test.columns, got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	for want, links := range map[string][]gpu.Link{
		"full mesh":                  {{A: 0, B: 1}, {A: 0, B: 2}, {A: 1, B: 2}},
		"full mesh, 64 GB/s each":    {{A: 0, B: 1, GBps: 64}, {A: 0, B: 2, GBps: 64}, {A: 1, B: 2, GBps: 64}},
		"full mesh, 32.5 to 64 GB/s": {{A: 0, B: 1, GBps: 32.5}, {A: 0, B: 2, GBps: 64}, {A: 1, B: 2, GBps: 64}},
		"full mesh, up to 64 GB/s":   {{A: 0, B: 1, GBps: 64}, {A: 0, B: 2}, {A: 1, B: 2, GBps: 64}},
		"2 of 3 links; missing: 0-2": {{A: 0, B: 1}, {A: 1, B: 2}},
		"1 link, 64 GB/s":            {{A: 0, B: 1, GBps: 64}},
		"4 of 10 links":              {{A: 0, B: 1}, {A: 1, B: 2}, {A: 2, B: 3}, {A: 3, B: 4}},
	} {
		n := c500(t, "")
		for _, l := range links {
			l.Kind = "MX"
			n.Links = append(n.Links, l)
		}
		s, err := View{Node: n}.checkView()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.domains[0].describeLinks(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for want, models := range map[string][]string{
		"no GPU":     nil,
		"1 × MXC500": {"MXC500"},
		"2 × MXC500": {"MXC500", "MXC500"},
		"2 GPUs":     {"MXC500", "MXC550"},
		"1 GPU":      {""},
	} {
		var gpus []gpu.GPU
		for _, m := range models {
			gpus = append(gpus, gpu.GPU{Model: m})
		}
		if got := gpuCount(gpus); got != want {
			t.Errorf("gpuCount(%q) = %q, want %q", models, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, tc := range []struct {
		driver *gpu.Driver
		maca   *gpu.MACA
		want   string
	}{
		{&gpu.Driver{Version: "3.4.4", Mode: gpu.DriverNative}, &gpu.MACA{Version: "3.3.0.15"}, "driver 3.4.4 (native), MXMACA 3.3.0.15"},
		{&gpu.Driver{Mode: gpu.DriverCloud}, nil, "driver version unknown (cloud), MXMACA version unknown"},
		{&gpu.Driver{Version: "3.4.4", Mode: "\x1b"}, nil, "driver 3.4.4 (\ufffd), MXMACA version unknown"},
		{&gpu.Driver{Version: "3.4.4"}, nil, "driver 3.4.4, MXMACA version unknown"},
		{nil, nil, "driver version unknown, MXMACA version unknown"},
	} {
		if got := softwareVersions(gpu.Node{Driver: tc.driver, MACA: tc.maca}); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.driver, got, tc.want)
		}
	}
}

func TestMemory(t *testing.T) {
	for mib, want := range map[int]string{0: "", -1: "", 65536: "64 GiB", 65535: "65535 MiB", 1024: "1 GiB"} {
		if got := memorySize(mib); got != want {
			t.Errorf("memorySize(%d) = %q, want %q", mib, got, want)
		}
	}
}
