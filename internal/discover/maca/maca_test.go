// SPDX-License-Identifier: Apache-2.0

package maca_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

func TestRead(t *testing.T) {
	version := func(text string) sim.Tree {
		return sim.Tree{"opt/maca": sim.Link("/opt/maca-3"), "opt/maca-3/Version.txt": sim.File{Data: text}}
	}
	found := func(version string) *gpu.MACA { return &gpu.MACA{Version: version, Path: "/opt/maca"} }
	for _, test := range []struct {
		name    string
		tree    sim.Tree
		want    maca.Report
		warning string // a part of the only one
	}{
		{"nothing", sim.Tree{}, maca.Report{}, ""},
		{
			"driver only",
			sim.Tree{"opt/mxdriver/bin/mx-smi": sim.File{}},
			maca.Report{Driver: "/opt/mxdriver"},
			"",
		},
		{
			"a driver elsewhere",
			sim.Tree{"usr/bin/mx-smi": sim.Link("/usr/local/metax/mxdriver/bin/mx-smi"), "usr/local/metax/mxdriver/bin/mx-smi": sim.File{}},
			maca.Report{Driver: "/usr/local/metax/mxdriver"},
			"",
		},
		{
			"a driver at its place comes first",
			sim.Tree{"usr/bin/mx-smi": sim.Link("/usr/local/mxdriver/bin/mx-smi"), "usr/local/mxdriver/bin/mx-smi": sim.File{}, "opt/mxdriver/lib": sim.Dir{}},
			maca.Report{Driver: "/opt/mxdriver"},
			"",
		},
		{
			"a directory that the driver shares is not given away",
			sim.Tree{"usr/bin/mx-smi": sim.Link("/usr/local/bin/mx-smi"), "usr/local/bin/mx-smi": sim.File{}},
			maca.Report{},
			"",
		},
		{"mx-smi without a link", sim.Tree{"usr/bin/mx-smi": sim.File{}}, maca.Report{}, ""},
		{"an empty directory is no driver", sim.Tree{"opt/mxdriver": sim.Dir{}}, maca.Report{}, ""},
		{"a link as installed", version("Version:3.3.0.15\n"), maca.Report{MACA: found("3.3.0.15")}, ""},
		{"a relative link", sim.Tree{
			"opt/maca": sim.Link("maca-3"), "opt/maca-3/Version.txt": sim.File{Data: "Version:3.3.0.15"},
		}, maca.Report{MACA: found("3.3.0.15")}, ""},
		{"no link", sim.Tree{"opt/maca/Version.txt": sim.File{Data: "Version:3.3.0.15"}}, maca.Report{MACA: found("3.3.0.15")}, ""},
		{"a suffix", version("Version: 3.8.0.3-c600u \r\nmore\n"), maca.Report{MACA: found("3.8.0.3-c600u")}, ""},
		{"the last colon counts", version("MXMACA:Version:3.3.0.15"), maca.Report{MACA: found("3.3.0.15")}, ""},
		{"no colon", version("3.3.0.15"), maca.Report{MACA: found("3.3.0.15")}, ""},
		{"no version", version("Version:\n3.3.0.15"), maca.Report{MACA: found("")}, `begins with the line "Version:"`},
		{"an empty file", version(""), maca.Report{MACA: found("")}, `begins with the line ""`},
		{"garbage", version("Version:3\x1b[2J"), maca.Report{MACA: found("")}, `"Version:3\x1b[2J"`},
		{"two words", version("Version:3.3 beta"), maca.Report{MACA: found("")}, `"Version:3.3 beta"`},
		{"no end", version("Version:" + strings.Repeat("3", 1000)), maca.Report{MACA: found("")}, "MXMACA version is not known"},
		{
			"no version file",
			sim.Tree{"opt/maca": sim.Link("maca-3"), "opt/maca-3/lib": sim.Dir{}},
			maca.Report{MACA: found("")},
			"MXMACA version is not known: open",
		},
		{"a link that leads nowhere", sim.Tree{"opt/maca": sim.Link("/opt/maca-3")}, maca.Report{}, "/opt/maca is a link that leads nowhere"},
		{"a link to itself", sim.Tree{"opt/maca": sim.Link("maca")}, maca.Report{}, "/opt/maca is a link that leads nowhere"},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := simtest.Write(t, test.tree)
			got := maca.Read(host)
			warnings := strings.Join(got.Warnings, "\n")
			got.Warnings = nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if (test.warning == "") != (warnings == "") || !strings.Contains(warnings, test.warning) {
				t.Errorf("warnings are %q, want one with %q", warnings, test.warning)
			}
		})
	}
}
