package trace

import (
	"fmt"

	"github.com/metax-ctk/container-toolkit/internal/svg"
)

// A line is told by its dashes even where colours are not to be seen.
var (
	colors = [...]string{svg.Indigo, svg.Amber, svg.Teal, svg.Rose, svg.Olive, svg.Blue, svg.Violet}
	dashes = [...]string{"", "9 5", "2 4", "12 4 2 4", "5 3", "16 5", "8 3 2 3 2 3"}
)

// stroke is the style of the line of a policy, by its place in the list.
func stroke(i int) string {
	s := fmt.Sprintf(`stroke="%s" stroke-width="2"`, colors[i%len(colors)])
	if d := dashes[i%len(dashes)]; d != "" {
		s += fmt.Sprintf(` stroke-dasharray="%s"`, d)
	}
	return s
}
