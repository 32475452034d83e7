package trace

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// FiguresCSV writes the figures of each policy on a line, below a line of names.
// Shares are from 0 to 1, times in seconds.
func FiguresCSV(w io.Writer, results []Result) error {
	rows := [][]string{{
		"policy", "jobs", "started", "gave_up", "never", "acceptance", "linked",
		"wait_mean", "wait_median", "wait_p95", "makespan", "utilisation", "fragmentation",
	}}
	for _, r := range results {
		rows = append(rows, []string{
			r.Policy, strconv.Itoa(r.Jobs), strconv.Itoa(r.Started), strconv.Itoa(r.GaveUp), strconv.Itoa(r.Never),
			number(r.Acceptance), number(r.Linked), r.WaitMean.String(), r.WaitMedian.String(), r.WaitP95.String(),
			r.Makespan.String(), number(r.Utilisation), number(r.Fragmentation),
		})
	}
	return writeCSV(w, rows)
}

// TimelineCSV writes each point of each Timeline on a line, below a line of names;
// time is the beginning of its step, in seconds from the first arrival.
func TimelineCSV(w io.Writer, results []Result) error {
	rows := [][]string{{"policy", "time", "utilisation", "fragmentation", "waiting"}}
	for _, r := range results {
		if r.Timeline == nil {
			continue
		}
		for i, p := range r.Timeline.Points {
			at := Time(i) * r.Timeline.Step
			rows = append(rows, []string{r.Policy, at.String(), number(p.Utilisation), number(p.Fragmentation), number(p.Waiting)})
		}
	}
	return writeCSV(w, rows)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func writeCSV(w io.Writer, rows [][]string) error {
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}
