// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// legend explains the words of the table, by component.
var legend = []struct {
	of   key.Component
	text string
}{
	{key.ByCapability, "2×4       room for 2 jobs of 4 GPUs, each linked by that class or better"},
	{key.ByWeight, "weight    total weight of the links among the GPUs; more is better"},
	{key.ByRest, "rest      room for jobs on the GPUs left free, counted like 2×4"},
	{key.ByCut, "cut       total weight of the links between the chosen GPUs and those left free; less is better"},
	{key.ByLocality, "locality  how near the GPUs are to each other on PCIe and NUMA; more is nearer"},
	{key.ByScore, "score     the policy's score, from the weight of the links inside the set and the cut"},
	{
		key.ByJobs,
		"jobs      the number of jobs of 8, 4, 2 and 1 GPUs that fill the GPUs left free, minus that before the pick; less is better",
	},
}

// figuresTable writes the components of both sets as a table, and the legend. It returns "" if
// the policy compares the order of the GPUs only.
func (e *Explanation) figuresTable() string {
	if slices.Equal(e.Key, []key.Component{key.ByOrder}) {
		return ""
	}
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

// cell writes a component of a candidate for the table.
func cell(c key.Component, of key.Candidate) string {
	switch c {
	case key.ByClass:
		return of.Class.String()
	case key.ByCapability:
		return room(of.Capability)
	case key.ByWeight:
		return strconv.Itoa(of.Weight)
	case key.ByRest:
		return room(of.Rest)
	case key.ByCut:
		return strconv.Itoa(of.Cut)
	case key.ByLocality:
		return strconv.Itoa(of.Locality)
	case key.ByScore:
		return strconv.FormatFloat(of.Score, 'f', -1, 64)
	case key.ByJobs:
		return fmt.Sprintf("%+d", of.Jobs)
	case key.ByOrder: // has no row of its own
	}
	return ""
}

// room writes a capability, such as "MX 1×4 2×2, NODE 1×4 2×2": room for one set of four
// or two sets of two, at each of both classes.
func room(list []key.Count) string {
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

// RoomFor says in words how many jobs have room, class by class, the largest first.
func RoomFor(counts []key.Count) string {
	var classes []string
	for i := 0; i < len(counts); {
		class := counts[i].Class
		var jobs []string
		for ; i < len(counts) && counts[i].Class == class; i++ {
			if c := counts[i]; c.Sets > 0 && len(jobs) == 0 {
				jobs = append(jobs, fmt.Sprintf("%s of %d", wording.Count(c.Sets, "job"), c.Size))
			} else if c.Sets > 0 {
				jobs = append(jobs, fmt.Sprintf("%d of %d", c.Sets, c.Size))
			}
		}
		if len(jobs) > 0 {
			classes = append(classes, strings.Join(jobs, " or ")+" on "+class.String())
		}
	}
	if len(classes) == 0 {
		return "no room for linked jobs"
	}
	return "room for " + strings.Join(classes, "; ")
}
