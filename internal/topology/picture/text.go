// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// textColumns returns the width of s in terminal columns. East Asian characters and the
// symbols beyond the basic plane take two.
func textColumns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r): // combining: no cell of its own
		case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
			r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0x1f300:
			n += 2
		default:
			n++
		}
	}
	return n
}

// shortenTo shortens s to at most n columns.
func shortenTo(s string, n int) string {
	if textColumns(s) <= n {
		return s
	}
	used := 0
	for at, r := range s {
		if used += textColumns(string(r)); used > n-1 {
			return s[:at] + "…"
		}
	}
	return s
}

// padTo fills s with spaces up to n columns.
func padTo(s string, n int) string { return s + strings.Repeat(" ", max(0, n-textColumns(s))) }

// softwareVersions names the driver, with its mode if that is known, and MXMACA with their
// versions.
func softwareVersions(n gpu.Node) string {
	name := func(what, version string) string {
		if version == "" {
			return what + " version unknown"
		}
		return what + " " + terminal.Line(version)
	}
	driver, maca, mode := "", "", ""
	if n.Driver != nil {
		driver = n.Driver.Version
		if n.Driver.Mode != "" {
			mode = " (" + terminal.Line(n.Driver.Mode) + ")"
		}
	}
	if n.MACA != nil {
		maca = n.MACA.Version
	}
	return name("driver", driver) + mode + ", " + name("MXMACA", maca)
}

// nodeTitle returns the name of the node.
func nodeTitle(n gpu.Node) string {
	if n.Name == "" {
		return "unnamed node"
	}
	return terminal.Line(n.Name)
}

// gpuCount says how many GPUs of which model the node has.
func gpuCount(gpus []gpu.GPU) string {
	if len(gpus) == 0 {
		return "no GPU"
	}
	model := gpus[0].Model
	for _, g := range gpus {
		if g.Model != model {
			model = ""
		}
	}
	switch {
	case model != "":
		return fmt.Sprintf("%d × %s", len(gpus), terminal.Line(model))
	case len(gpus) == 1:
		return "1 GPU"
	}
	return fmt.Sprintf("%d GPUs", len(gpus))
}

// describeLinks says how the GPUs of a domain are joined.
func (d domain) describeLinks() string {
	s, missing := "full mesh", ""
	n := len(d.apart)
	switch {
	case n > topology.FewMissing:
		s = fmt.Sprintf("%d of %d links", d.links, d.links+n)
	case n > 0:
		s, missing = fmt.Sprintf("%d of %d links", d.links, d.links+n), "; missing: "+wording.Pairs(d.apart)
	case d.links == 1:
		s = "1 link"
	}
	switch {
	case d.maxGBps <= 0: // not known
	case d.minGBps <= 0:
		s += fmt.Sprintf(", up to %g GB/s", d.maxGBps)
	case d.minGBps < d.maxGBps:
		s += fmt.Sprintf(", %g to %g GB/s", d.minGBps, d.maxGBps)
	case d.links == 1:
		s += fmt.Sprintf(", %g GB/s", d.maxGBps)
	default:
		s += fmt.Sprintf(", %g GB/s each", d.maxGBps)
	}
	return s + missing
}
