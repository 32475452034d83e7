// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/discover"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) psCommand() *cli.Command {
	return &cli.Command{
		Name:  "ps",
		Usage: "who uses which GPU",
		Flags: []cli.Flag{
			sourceFlag(),
			onlyFlag(),
			&cli.BoolFlag{Name: "watch", Usage: "print repeatedly until interrupted; JSON on one line each"},
			intervalFlag(2*time.Second, "with --watch: wait `TIME` in between"),
		},
		Action: t.ps,
	}
}

func (t toolkit) ps(c *cli.Context) error {
	if err := needWatch(c, "interval"); err != nil {
		return err
	}
	t = t.warnUnknown(c)
	if c.Bool("watch") {
		return t.repeatCommand(c, c.Duration("interval"), t.psOnce)
	}
	return t.psOnce(c)
}

func (t toolkit) psOnce(c *cli.Context) error {
	// metax-docker requests one source, and has no time for mx-smi.
	if c.IsSet("source") {
		t.Run = nil
	}
	node, err := t.loadNode(c)
	if err != nil {
		return err
	}
	isOut, err := leftOut(c, node)
	if err != nil {
		return err
	}
	readings := t.readingsBeside(c, node)
	report, err := t.holderReport(c, node, c.StringSlice("source")...)
	load := <-readings
	if err != nil {
		return fmt.Errorf("find out which GPUs are in use: %w", err)
	}
	t.warnLost(report.State.Lost)
	told := ps.Describe(node, report, load)
	told.GPUs = slices.DeleteFunc(told.GPUs, func(g ps.GPU) bool { return isOut(g.Index) })
	return t.printRows(c, told, psRows(told), t.psBelow(told), c.Bool("watch"))
}

// readingsBeside reads the GPUs of a host while the caller asks who uses them. There are none
// for a request of named sources, which metax-docker makes before a container starts.
func (t toolkit) readingsBeside(c *cli.Context, n gpu.Node) <-chan []gpu.Reading {
	answer := make(chan []gpu.Reading, 1)
	if at := t.nodeSelector(c); at.IsHost() && !c.IsSet("source") && discover.NotLoaded(n) == "" {
		go func() {
			readings, _, err := at.Readings(c.Context, n, 0)
			if err != nil && !errors.Is(err, discover.ErrNoReadings) && c.Context.Err() == nil {
				t.warn(fmt.Sprintf("the load of the GPUs is not known (%v); a GPU shown as free may have load", err))
			}
			answer <- readings
		}()
	} else {
		answer <- nil
	}
	return answer
}

// psRows has a row for each GPU and holder.
func psRows(o ps.Occupancy) [][]string {
	rows := [][]string{{"GPU", "STATE", "HOLDER", "CONTAINER", "ENGINE", "USER", "SINCE", "SOURCE"}}
	for _, g := range o.GPUs {
		if len(g.Holders) == 0 {
			state := cmp.Or(g.Parts, "free")
			switch {
			case !g.Healthy:
				state = "unhealthy"
			case g.UserUnknown:
				state = ps.UserNotKnown
			}
			rows = append(rows, []string{strconv.Itoa(g.Index), state, "", "", "", "", "", ""})
		}
		for _, h := range g.Holders {
			container, engine := containerOf(h)
			rows = append(rows, []string{
				strconv.Itoa(g.Index), stateOf(g, h), holderOf(h), container, engine, h.User, formatTime(h.Since),
				strings.Join(h.Sources, "+"),
			})
		}
	}
	return rows
}

// psBelow has what stands below the rows: counts, the queue, and what was not seen.
func (t toolkit) psBelow(o ps.Occupancy) string {
	return summaryLine(o.Summary) + lostNote(o.GPUs) + t.queueTable(o.Queue) + ignoredNote(o.Containers) +
		sourceNote(o.Sources)
}

// summaryLine says how many GPUs are free, and how many are neither free nor in use by a known
// user.
func summaryLine(s ps.Summary) string {
	is := func(n int) string {
		if n == 1 {
			return "is"
		}
		return "are"
	}
	line := fmt.Sprintf("\n%d of %s %s free", s.Free, wording.Count(s.GPUs, "GPU"), is(s.Free))
	switch s.UserUnknown {
	case 0: // nothing to add
	case 1:
		line += "; 1 has load and no known user"
	default:
		line += fmt.Sprintf("; %d have load and no known user", s.UserUnknown)
	}
	if out := s.GPUs - s.Free - s.InUse - s.UserUnknown; out > 0 {
		line += fmt.Sprintf("; %d %s unhealthy or divided into slices", out, is(out))
	}
	return line + "\n"
}

// lostNote has a line for each unhealthy GPU that is in use: its users may hang.
func lostNote(gpus []ps.GPU) (text string) {
	for _, g := range gpus {
		var names []string
		for _, h := range g.Holders {
			names = append(names, holderOf(h))
		}
		if !g.Healthy && len(names) > 0 {
			text += terminal.Line(fmt.Sprintf("GPU %d is unhealthy (metax-ctk health) and still in use by %s", g.Index,
				strings.Join(names, ", "))) + "\n"
		}
	}
	return text
}

func stateOf(g ps.GPU, h ps.Holder) string {
	state := h.State
	if h.Lease != nil && h.Lease.Shared {
		state += ", shared"
	}
	if !g.Healthy {
		state += ", unhealthy"
	}
	if g.Parts != "" {
		state += ", " + g.Parts
	}
	return state
}

// holderOf names the holder by its lease, or else its container, or else its process.
func holderOf(h ps.Holder) string {
	switch {
	case h.Lease != nil:
		return "lease " + h.Lease.ID
	case h.Container != nil:
		name, _ := containerOf(h)
		return "container " + name
	case len(h.Processes) > 0:
		return fmt.Sprintf("process %d (%s)", h.Processes[0].PID, h.Processes[0].Command)
	}
	return "not known"
}

// containerOf names the holder's container, and its engine.
func containerOf(h ps.Holder) (name, engine string) {
	switch {
	case h.Container != nil && h.Container.Name != "":
		return h.Container.Name, h.Container.Engine
	case h.Container != nil:
		return usage.ShortID(h.Container.ID), h.Container.Engine
	case h.Lease != nil:
		return usage.ShortID(h.Lease.Container), h.Lease.Engine
	}
	return "", ""
}

// queueTable has the requests that wait, if there are any, in their order.
func (t toolkit) queueTable(queue []ps.Waiting) string {
	if len(queue) == 0 {
		return ""
	}
	rows := [][]string{{"POSITION", "REQUEST", "GPUS", "STATE", "PROCESS", "USER", "SINCE", "WAITED"}}
	for _, q := range queue {
		which := cmp.Or(wording.List(q.GPUs), "any "+strconv.Itoa(q.Count))
		position := ""
		if q.Position > 0 {
			position = strconv.Itoa(q.Position)
		}
		waited := time.Duration(q.WaitedSeconds) * time.Second
		state := q.State
		if q.EndedBy != "" {
			state += " by " + q.EndedBy
		}
		rows = append(rows,
			[]string{position, q.ID, which, state, strconv.Itoa(q.PID), q.User, formatTime(q.Since), waited.String()})
	}
	return "\n" + t.formatTable(rows)
}

// ignoredNote has a line for each container that asks for GPUs by its environment and has
// none.
func ignoredNote(containers []ps.Container) string {
	var text strings.Builder
	for _, c := range containers {
		if c.Ignored != "" {
			fmt.Fprintf(&text, "\ncontainer %s (%s) has no GPU: %s\n", cmp.Or(c.Name, usage.ShortID(c.ID)), c.Engine,
				usage.WhyIgnored(c.Ignored))
		}
	}
	return terminal.Lines(text.String())
}

// sourceNote is one line about the sources that were not seen, and why. An engine is
// absent if none of its sources is on this machine.
func sourceNote(sources []ps.Source) string {
	var absent, rest []string
	for _, s := range sources {
		switch s.Status {
		case ps.Absent:
			there := slices.ContainsFunc(sources,
				func(o ps.Source) bool { return o.Engine == s.Engine && o.Status != ps.Absent })
			if !there && !slices.Contains(absent, s.Engine) {
				absent = append(absent, s.Engine)
			}
		case ps.Partial:
			rest = append(rest, fmt.Sprintf("incomplete: %s: %s", s, s.Message))
		case ps.Failed:
			rest = append(rest, fmt.Sprintf("no answer: %s: %s", s, s.Message))
		case ps.OK: // seen
		}
	}
	if len(absent) > 0 {
		rest = slices.Insert(rest, 0, "not on this machine: "+strings.Join(absent, ", "))
	}
	if len(rest) == 0 {
		return ""
	}
	return "\n" + terminal.Line(strings.Join(rest, "; ")) + "\n"
}

// formatTime is a time for people, empty for none.
func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}
