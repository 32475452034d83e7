// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/svg"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// The colours of the pictures. No meaning is shown by colour alone: each also has a word, a
// sign or a line style.
const (
	boxFill       = "#e9edf3"
	boxEdge       = "#cbd4e0"
	barFill       = "#d3dbe7"
	barEdge       = "#b4c0d0"
	wire          = "#94a3b8"
	kindEdge      = "#64748b"
	cardFill      = "#ffffff"
	pickFill      = "#e7f7ee"
	pickEdge      = "#12804a"
	inUseFill     = "#dfe3ea"
	inUseEdge     = "#475569"
	partFill      = "#f2effc"
	partEdge      = "#6d28d9"
	unhealthyFill = "#fdf0ef"
	unhealthyEdge = "#c0261c"
)

// hatchLine is the colour of the stripes of a GPU in use.
const hatchLine = "#d3d8e1"

// darkColors are the colours on dark screens.
func darkColors() svg.Colors {
	return append(svg.Common(), svg.Colors{
		{boxFill, "#1a2438"},
		{boxEdge, "#3a475c"},
		{barFill, "#2b384f"},
		{barEdge, "#52627a"},
		{wire, "#64748b"},
		{kindEdge, "#94a3b8"},
		{cardFill, "#111a2c"},
		{pickFill, "#0f3327"},
		{pickEdge, "#34c98a"},
		{inUseFill, "#2a3346"},
		{hatchLine, "#39455b"},
		{inUseEdge, "#a3b1c6"},
		{partFill, "#241a45"},
		{partEdge, "#a78bfa"},
		{unhealthyFill, "#3b1618"},
		{unhealthyEdge, "#f87171"},
	}...)
}

// kindLine returns the attributes of the line that stands for a kind of link other than
// MetaXLink. Lines differ by their dashes, so that they can be told apart without color.
func kindLine(k topology.Kind) string {
	dash := ""
	switch k {
	case topology.PXB:
		dash = ` stroke-dasharray="7 2"`
	case topology.PHB:
		dash = ` stroke-dasharray="3 2"`
	case topology.NODE:
		dash = ` stroke-dasharray="0 6" stroke-linecap="round"`
	case topology.SYS:
		dash = ` stroke-dasharray="8 7" stroke-linecap="round"`
	case topology.Unknown:
		return fmt.Sprintf(`stroke="%s" stroke-width="1"`, kindEdge)
	case topology.PIX, topology.Switch, topology.MX: // without dashes
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="3"%s`, kindEdge, dash)
}

// domainColors distinguish neighbouring domains; they repeat.
var domainColors = [...]string{svg.Indigo, svg.Teal, svg.Amber, svg.Rose, svg.Blue, svg.Olive, svg.Violet, svg.Brown}

// domainColor returns the colour of a domain, by its number from 1.
func domainColor(number int) string { return domainColors[(number-1)%len(domainColors)] }
