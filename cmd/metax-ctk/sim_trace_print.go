package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/trace"
)

// render prints a comparison in one of the formats of --format.
func (r traced) render(w io.Writer, format string, timeline bool) error {
	switch {
	case format == "svg":
		return trace.SVG(w, trace.Picture{
			Title: fmt.Sprintf("%s: %s, %s", r.Node, plural(r.Jobs, "job"), policyCount(len(r.Results))), Note: r.note(), Results: r.Results,
		})
	case format == "csv" && timeline:
		return trace.TimelineCSV(w, r.Results)
	case format == "csv":
		return trace.FiguresCSV(w, r.Results)
	}
	rows := [][]string{{"POLICY", "ACCEPTED", "LINKED", "WAIT", "MEDIAN", "P95", "UTILISED", "FRAGMENTED", "CLASSES"}}
	for _, p := range r.Results {
		var classes []string
		for _, c := range p.Classes {
			classes = append(classes, fmt.Sprintf("%v %d", c.Class, c.Jobs))
		}
		linked := "-" // no job of two or more GPUs has started
		if len(p.Classes) > 0 {
			linked = percent(p.Linked)
		}
		rows = append(rows, []string{
			p.Policy, percent(p.Acceptance), linked, lasting(p.WaitMean), lasting(p.WaitMedian), lasting(p.WaitP95),
			percent(p.Utilisation), percent(p.Fragmentation), strings.Join(classes, ", "),
		})
	}
	if err := columns(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s: %s; %s\n", terminal.Line(r.Node), plural(r.Jobs, "job"), r.note())
	return err
}

// note says how the trace was run.
func (r traced) note() string {
	note := plural(r.GPUs, "GPU")
	if r.Load > 0 {
		note += fmt.Sprintf(", offered load %.2f", r.Load)
	}
	switch {
	case r.Patience != nil && *r.Patience == 0:
		note += ", no queue"
	case r.Backfill:
		note += ", first come first served with backfill"
	default:
		note += ", first come first served"
	}
	if r.Patience != nil && *r.Patience > 0 {
		note += ", giving up after " + lasting(*r.Patience)
	}
	if r.Scope != "any" {
		note += ", scope " + r.Scope
	}
	return note
}

func policyCount(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return fmt.Sprintf("%d policies", n)
}

// title is the node's name.
func title(n gpu.Node) string {
	if n.Name == "" {
		return "unnamed node"
	}
	return n.Name
}

func percent(v float64) string { return fmt.Sprintf("%.1f%%", 100*v) }

// lasting is a time for a person: to the second, and below one exactly.
func lasting(t trace.Time) string {
	d := time.Duration(t) * time.Millisecond
	if d >= time.Second {
		d = d.Round(time.Second)
	}
	return d.String()
}

// progress shows on a terminal how far a run is that lasts longer than a second,
// until stop is called, which wipes it away. The run counts what is done; done is
// nil if nobody is to see it.
func (t toolkit) progress(hide bool, total int) (done *atomic.Int64, stop func()) {
	if hide || !isTerminal(t.Err) {
		return nil, func() {}
	}
	done = new(atomic.Int64)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for shown := false; ; shown = true {
			select {
			case <-end:
				if shown {
					fmt.Fprint(t.Err, "\r\x1b[K")
				}
				return
			case <-ticker.C:
				fmt.Fprint(t.Err, "\r\x1b[K"+bar(int(done.Load()), total))
				ticker.Reset(200 * time.Millisecond)
			}
		}
	}()
	return done, func() { close(end); <-ended }
}

// bar is a line that says how much of all is done.
func bar(done, all int) string {
	const width = 30
	full := width * done / max(all, 1)
	return fmt.Sprintf("[%s%s] %d%%", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*done/max(all, 1))
}
