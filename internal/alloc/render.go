package alloc

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

const legend = `
  2×4    room for 2 jobs of 4 GPUs, each in a ring of links of that class or better
  rest   the same for the GPUs left free
  cut    the weight of the links to those; less is better
`

// Text says in a sentence why the set was chosen, and shows the figures of both
// sets in a table, in the order in which they were compared; an arrow marks what
// decided. It ends with a newline.
func (e *Explanation) Text() string {
	var b strings.Builder
	chosen := e.Chosen
	if e.RunnerUp == nil {
		fmt.Fprintf(&b, "chosen %s, the only set that meets the request\n\n", join(chosen.GPUs))
	} else {
		fmt.Fprintf(&b, "chosen %s over %s because %s\n\n", join(chosen.GPUs), join(e.RunnerUp.GPUs), e.reason())
	}
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	row := func(head string, cell func(Candidate) string) {
		fmt.Fprintf(w, "  %s\t%s", head, cell(chosen))
		if e.RunnerUp != nil {
			fmt.Fprintf(w, "\t%s", cell(*e.RunnerUp))
		}
		fmt.Fprintln(w)
	}
	row("GPUs", func(c Candidate) string { return join(c.GPUs) })
	for _, component := range e.Key {
		if component == ByOrder {
			continue
		}
		head := component.String()
		if e.DecidedBy == component {
			head = "→ " + head
		}
		row(head, component.cell)
	}
	w.Flush() // a strings.Builder takes everything
	b.WriteString(legend)
	return b.String()
}

// reason is the second half of the sentence, for a runner-up that there is.
func (e *Explanation) reason() string {
	a, b := e.Chosen, *e.RunnerUp
	switch e.DecidedBy {
	case ByClass:
		return fmt.Sprintf("a ring over them runs on %v, over the others on %v", a.Class, b.Class)
	case ByCapability:
		return "among them are " + difference(a.Capability, b.Capability)
	case ByWeight:
		return fmt.Sprintf("their links weigh %d, the others' %d", a.Weight, b.Weight)
	case ByRest:
		return "the GPUs left free still hold " + difference(a.Rest, b.Rest)
	case ByCut:
		return fmt.Sprintf("their links to the GPUs left free weigh %d, the others' %d", a.Cut, b.Cut)
	case ByLocality:
		return fmt.Sprintf("they sit nearer to each other on the host: %d against %d", a.Locality, b.Locality)
	}
	return "both are equally good, and their indices come first"
}

// difference names the most important count in which two capabilities differ.
func difference(a, b []Count) string {
	for i, c := range a {
		if i < len(b) && c != b[i] {
			what := fmt.Sprintf("sets of %d", c.Size)
			if c.Size == 2 {
				what = "pairs"
			}
			return fmt.Sprintf("more %s linked by %v: %d against %d", what, c.Class, c.Sets, b[i].Sets)
		}
	}
	return "as many sets"
}

// cell is the component's value for a candidate, short.
func (c Component) cell(of Candidate) string {
	switch c {
	case ByClass:
		return of.Class.String()
	case ByCapability:
		return counts(of.Capability)
	case ByWeight:
		return strconv.Itoa(of.Weight)
	case ByRest:
		return counts(of.Rest)
	case ByCut:
		return strconv.Itoa(of.Cut)
	case ByLocality:
		return strconv.Itoa(of.Locality)
	}
	return ""
}

// counts writes a capability as "MX 1×4 2×2, NODE 1×4 2×2": one set of four or
// two sets of two, at either class.
func counts(list []Count) string {
	if len(list) == 0 {
		return "-"
	}
	var b strings.Builder
	for i, c := range list {
		switch {
		case i == 0:
			b.WriteString(c.Class.String())
		case c.Class != list[i-1].Class:
			b.WriteString(", " + c.Class.String())
		}
		fmt.Fprintf(&b, " %d×%d", c.Sets, c.Size)
	}
	return b.String()
}
