// SPDX-License-Identifier: Apache-2.0

package svg

import "fmt"

// Colors are pairs of a color and the one that stands for it on dark screens.
type Colors [][2]string

// Common returns the dark colors of this package's.
func Common() Colors {
	return Colors{
		{Background, "#0f172a"},
		{Border, "#334155"},
		{Text, "#e2e8f0"},
		{MutedText, "#a3b1c6"},
		{Indigo, "#8b93ff"},
		{Teal, "#2dc7b5"},
		{Amber, "#f0a030"},
		{Rose, "#f472b6"},
		{Blue, "#46b4f5"},
		{Olive, "#a3c520"},
		{Violet, "#c084fc"},
		{Brown, "#d99a88"},
	}
}

// Dark writes the style for viewers that ask for dark colors. It replaces each color
// wherever it is a fill or a stroke.
func (c *Canvas) Dark(colors Colors) {
	c.WriteString("<style>@media (prefers-color-scheme: dark) {\n")
	for _, pair := range colors {
		fmt.Fprintf(c, "[fill=%q] { fill: %s } [stroke=%[1]q] { stroke: %[2]s }\n", pair[0], pair[1])
	}
	c.WriteString("}</style>\n")
}
