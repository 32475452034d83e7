package trace

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Table writes the figures of each policy on a line, and below them the title and the note.
func Table(w io.Writer, p Picture) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(table, strings.Join(cells, "\t")) }
	row("POLICY", "ACCEPTED", "LINKED", "WAIT", "MEDIAN", "P95", "UTILISED", "FRAGMENTED", "CLASSES")
	for _, r := range p.Results {
		linked, classes := "-", "-" // no job of two or more GPUs has started
		if len(r.Classes) > 0 {
			var words []string
			for _, c := range r.Classes {
				words = append(words, fmt.Sprintf("%v %d", c.Class, c.Jobs))
			}
			linked, classes = percent(r.Linked), strings.Join(words, ", ")
		}
		row(r.Policy, percent(r.Acceptance), linked, r.WaitMean.rounded(), r.WaitMedian.rounded(), r.WaitP95.rounded(),
			percent(r.Utilisation), percent(r.Fragmentation), classes)
	}
	fmt.Fprintf(table, "%s; %s\n", p.Title, p.Note)
	return table.Flush()
}

// rounded is a time for a person: to the second, and below one exactly.
func (t Time) rounded() string {
	d := time.Duration(t) * time.Millisecond
	if d >= time.Second {
		d = d.Round(time.Second)
	}
	return d.String()
}
