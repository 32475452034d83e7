package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/metax-ctk/container-toolkit/internal/wording"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// legend explains the words of a table, by component.
var legend = []struct {
	of   key.Component
	text string
}{
	{key.ByCapability, "2×4    room for 2 jobs of 4 GPUs, each linked by that class or better"},
	{key.ByRest, "rest   the same for the GPUs left free"},
	{key.ByCut, "cut    the weight of the links to those; less is better"},
	{key.ByScore, "score  what the policy makes of the weight of their links and that of those to the GPUs left free"},
	{key.ByJobs, "jobs   how many more jobs of 8, 4, 2 and 1 GPUs it takes to fill the node; less is better"},
}

// Text says in words which links the set has, what it leaves for the next job, and
// what decided against the runner-up. With figures it shows those of both sets in a
// table, in the order in which they were compared; an arrow marks what decided. It
// ends with a newline.
func (e *Explanation) Text(figures bool) string {
	text := links(e.Chosen) + "\n" + leaves(e.Chosen) + e.sentence() + "\n"
	switch {
	case len(e.Chosen.GPUs) < 2:
		text = leaves(e.Chosen) + e.sentence() + "\n"
	case e.RunnerUp != nil && e.DecidedBy == key.ByClass && !e.inferior():
		text = fmt.Sprintf("%s; the next best, %s, would %s\n", links(e.Chosen), wording.Ranges(e.RunnerUp.GPUs), crosses(*e.RunnerUp)) + leaves(e.Chosen)
	}
	if figures {
		text += "\n" + e.table()
	}
	return text
}

// links says how several GPUs are linked.
func links(c key.Candidate) string {
	switch {
	case c.Class == topology.Unknown:
		return "the links among " + wording.Ranges(c.GPUs) + " are not known"
	case c.Class != topology.MX:
		return fmt.Sprintf("the links among %s cross %s (%v)", wording.Ranges(c.GPUs), c.Class.Meaning(), c.Class)
	case len(c.GPUs) == 2:
		return wording.Ranges(c.GPUs) + " are linked by MetaXLink"
	}
	return wording.Ranges(c.GPUs) + " are all linked by MetaXLink"
}

// crosses says what the links of a set of a class below MX cross.
func crosses(c key.Candidate) string {
	if c.Class == topology.Unknown {
		return "have links that are not known"
	}
	return fmt.Sprintf("cross PCIe (%v)", c.Class)
}

// leaves is a line on the best that remains for the next job; empty where no links
// tell.
func leaves(c key.Candidate) string {
	for _, count := range c.Rest {
		switch {
		case count.Sets == 1:
			return fmt.Sprintf("left for the next job: %d GPUs linked by %v\n", count.Size, count.Class)
		case count.Sets > 1:
			return fmt.Sprintf("left for the next jobs: %d sets of %d GPUs linked by %v\n", count.Sets, count.Size, count.Class)
		}
	}
	return ""
}

func (e *Explanation) table() string {
	var b strings.Builder
	chosen := e.Chosen
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	row := func(head string, cell func(key.Candidate) string) {
		fmt.Fprintf(w, "  %s\t%s", head, cell(chosen))
		if e.RunnerUp != nil {
			fmt.Fprintf(w, "\t%s", cell(*e.RunnerUp))
		}
		fmt.Fprintln(w)
	}
	row("GPUs", func(c key.Candidate) string { return wording.Ranges(c.GPUs) })
	for _, component := range e.Key {
		if component == key.ByOrder {
			continue
		}
		head := component.String()
		if e.DecidedBy == component {
			head = "→ " + head
		}
		row(head, func(c key.Candidate) string { return cell(component, c) })
	}
	w.Flush() // a strings.Builder takes everything
	b.WriteByte('\n')
	for _, l := range legend {
		if slices.Contains(e.Key, l.of) {
			b.WriteString("  " + l.text + "\n")
		}
	}
	return b.String()
}

// sentence says why the set was chosen, without an end.
func (e *Explanation) sentence() string {
	chosen, other := e.Chosen, e.RunnerUp
	switch {
	case other == nil:
		return fmt.Sprintf("chosen %s, the only set that meets the request", wording.Ranges(chosen.GPUs))
	case e.Joint && e.inferior():
		return fmt.Sprintf("chosen %s together with the other requests; by itself %s is better because %s",
			wording.Ranges(chosen.GPUs), wording.Ranges(other.GPUs), e.reason(*other, chosen))
	case e.inferior():
		return fmt.Sprintf("chosen %s; a second search found %s, which is better because %s",
			wording.Ranges(chosen.GPUs), wording.Ranges(other.GPUs), e.reason(*other, chosen))
	case e.DecidedBy == key.ByOrder:
		return fmt.Sprintf("chosen %s over %s: %s", wording.Ranges(chosen.GPUs), wording.Ranges(other.GPUs), e.reason(chosen, *other))
	}
	return fmt.Sprintf("chosen %s over %s because %s", wording.Ranges(chosen.GPUs), wording.Ranges(other.GPUs), e.reason(chosen, *other))
}

// inferior reports whether the runner-up is better by itself.
func (e *Explanation) inferior() bool {
	by := e.DecidedBy.Compare(e.Chosen, *e.RunnerUp)
	return by < 0 || e.DecidedBy == key.ByOrder && slices.Compare(e.Chosen.GPUs, e.RunnerUp.GPUs) > 0
}

// reason is the second half of the sentence: why a, which is better, and not b.
func (e *Explanation) reason(a, b key.Candidate) string {
	switch e.DecidedBy {
	case key.ByClass:
		return fmt.Sprintf("their link class is %v, that of the others %v", a.Class, b.Class)
	case key.ByCapability:
		return "among them are " + difference(a.Capability, b.Capability)
	case key.ByWeight:
		return fmt.Sprintf("their links weigh %d, the others' %d", a.Weight, b.Weight)
	case key.ByRest:
		return "the GPUs left free still hold " + difference(a.Rest, b.Rest)
	case key.ByCut:
		return fmt.Sprintf("their links to the GPUs left free weigh %d, the others' %d", a.Cut, b.Cut)
	case key.ByLocality:
		return fmt.Sprintf("they sit nearer to each other on the host: %d against %d", a.Locality, b.Locality)
	case key.ByScore:
		return fmt.Sprintf("they score %v, the others %v", a.Score, b.Score)
	case key.ByJobs:
		return fmt.Sprintf("filling the node then takes %+d jobs, with the others %+d", a.Jobs, b.Jobs)
	}
	if len(e.Key) == 1 {
		return "lower GPU numbers win"
	}
	return "equally good; lower GPU numbers win"
}

// difference names the most important count in which two capabilities differ.
func difference(a, b []key.Count) string {
	for i, c := range a {
		if i < len(b) && c != b[i] {
			what := fmt.Sprintf("sets of %d", c.Size)
			if c.Size == 2 {
				what = "pairs"
			}
			more := "more"
			if c.Sets < b[i].Sets {
				more = "fewer"
			}
			return fmt.Sprintf("%s %s linked by %v: %d against %d", more, what, c.Class, c.Sets, b[i].Sets)
		}
	}
	return "as many sets"
}

// cell is the component's value for a candidate, short.
func cell(c key.Component, of key.Candidate) string {
	switch v := figure(c, of).(type) {
	case nil:
		return ""
	case []key.Count:
		return Room(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case int:
		if c == key.ByJobs {
			return fmt.Sprintf("%+d", v)
		}
		return strconv.Itoa(v)
	default:
		return fmt.Sprint(v)
	}
}

// figure is a component's value for a candidate; nil for ByOrder, which has none.
func figure(c key.Component, of key.Candidate) any {
	switch c {
	case key.ByClass:
		return of.Class
	case key.ByCapability:
		return of.Capability
	case key.ByWeight:
		return of.Weight
	case key.ByRest:
		return of.Rest
	case key.ByCut:
		return of.Cut
	case key.ByLocality:
		return of.Locality
	case key.ByScore:
		return of.Score
	case key.ByJobs:
		return of.Jobs
	}
	return nil
}

// Room writes a capability as "MX 1×4 2×2, NODE 1×4 2×2": one set of four or
// two sets of two, at either class.
func Room(list []key.Count) string {
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
