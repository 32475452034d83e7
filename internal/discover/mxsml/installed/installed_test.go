// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestLibrary: the library of an MXMACA that the operator installed is left out; those of the
// driver and of the vendor's own installation are sources.
func TestLibrary(t *testing.T) {
	const driver, vendor, operator = "opt/mxdriver/lib/libmxsml.so", "opt/maca-3.3.0/lib/libmxsml.so", "opt/.metax-maca/maca-3.3.0.json"
	library := sim.File{Data: "library"}
	for name, tc := range map[string]struct {
		tree sim.Tree
		want string
	}{
		"none":                     {sim.Tree{"opt": sim.Dir{}}, ""},
		"the driver's":             {sim.Tree{driver: library, "opt/maca": sim.Link("maca-3.3.0"), vendor: library, operator: sim.File{}}, driver},
		"the vendor's MXMACA":      {sim.Tree{"opt/maca": sim.Link("maca-3.3.0"), vendor: library}, vendor},
		"the operator's MXMACA":    {sim.Tree{"opt/maca": sim.Link("maca-3.3.0"), vendor: library, operator: sim.File{}}, ""},
		"the operator's directory": {sim.Tree{"opt/maca": sim.Link(".metax-maca/staging/x"), "opt/.metax-maca/staging/x/lib/libmxsml.so": library}, ""},
		"another version is the operator's": {sim.Tree{
			"opt/maca": sim.Link("maca-3.3.0"), vendor: library, "opt/.metax-maca/maca-3.4.0.json": sim.File{},
		}, vendor},
	} {
		t.Run(name, func(t *testing.T) {
			root := simtest.Write(t, tc.tree)
			got, ok := Library(root)
			if ok != (tc.want != "") || ok && strings.TrimPrefix(got, root.Dir()+"/") != tc.want {
				t.Errorf("%q, %v; want %q", got, ok, tc.want)
			}
		})
	}
}
