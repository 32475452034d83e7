// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/metax-ctk/container-toolkit/test/simtest"
)

// TestLinksUnknown: what is not known is not denied.
func TestLinksUnknown(t *testing.T) {
	node := simtest.Node(t, "c500-8-pcie")
	for name, render := range map[string]func(io.Writer, View) error{"tree": Tree, "svg": SVG} {
		for unknown, want := range map[bool]string{false: "no MetaXLink", true: "MetaXLink: unknown"} {
			var text bytes.Buffer
			if err := render(&text, View{Node: node, LinksUnknown: unknown}); err != nil {
				t.Fatal(err)
			}
			if got := text.String(); !strings.Contains(got, want) || unknown && strings.Contains(got, "no MetaXLink") {
				t.Errorf("%s, unknown %v: want %q in\n%s", name, unknown, want, got)
			}
		}
	}
}
