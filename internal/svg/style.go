// SPDX-License-Identifier: Apache-2.0

package svg

// The colors of the background, its border and text.
const (
	Background = "#f5f7fa"
	Border     = "#d3dae4" // of the background
	Text       = "#16202e"
	MutedText  = "#52607a" // for less important text
)

// The colors that distinguish lines, each dark enough on Background and on white. Never
// show a meaning by color alone.
const (
	Indigo = "#4f46e5"
	Teal   = "#0f8a8a"
	Amber  = "#b45309"
	Rose   = "#be1868"
	Blue   = "#0a6ebd"
	Olive  = "#5f7a12"
	Violet = "#8b34c9"
	Brown  = "#9a4a3a"
)

// The fonts; the viewer uses the first that it has.
const (
	sans = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
	Mono = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"
)
