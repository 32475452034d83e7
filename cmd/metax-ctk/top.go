// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/top"
)

func (t toolkit) topCommand() *cli.Command {
	return &cli.Command{
		Name:  "top",
		Usage: "the GPUs at work: readings, users and the queue, live",
		Flags: []cli.Flag{
			onlyFlag(),
			&cli.BoolFlag{Name: "once", Usage: "print one look and end"},
			intervalFlag(2*time.Second, "`TIME` between two looks"),
		},
		Action: t.top,
	}
}

func (t toolkit) top(c *cli.Context) error {
	t = t.warnUnknown(c)
	// The first look does without the vendor's software, which may hang: the view appears at
	// once, and the readings are queried in the background.
	quick := t
	quick.Library, quick.Run = nil, nil
	node, err := quick.nodeSelector(c).Load(c.Context)
	if err != nil {
		return err
	}
	isOut, err := leftOut(c, node)
	if err != nil {
		return err
	}
	format := c.String("output-format")
	live := format == "table" && !c.Bool("once") && isTerminal(t.Out)
	keeper := t
	if live {
		keeper = t.behindScreen()
	}
	users, err := keeper.askUsers(c, node)
	if err != nil {
		return err
	}
	view := top.NewLive(top.State{Node: node, Interval: c.Duration("interval"), IsOut: isOut}, t.askReadings(c, node),
		users)
	ctx, cancel := context.WithCancel(c.Context)
	defer view.Wait()
	defer cancel()
	switch {
	case live:
		return drawTop(ctx, view)
	case c.Bool("once"), format == "table", format == "csv":
		view.Look(ctx, nil)
		if ctx.Err() != nil {
			return errInterrupted
		}
		return t.printTop(c, view.State, false)
	}
	return t.repeatTop(ctx, c, view)
}

// behindScreen returns the toolkit for what runs while a view fills the terminal: the view
// says what is missing, so nothing is printed, and a log on standard error stands still.
func (t toolkit) behindScreen() toolkit {
	t.Err, t.warnings = io.Discard, new(warnings)
	if t.log.printed {
		t.log = new(journal)
	}
	return t
}

// askReadings asks what the GPUs measure.
func (t toolkit) askReadings(c *cli.Context, node gpu.Node) top.Question {
	selected := t.nodeSelector(c)
	return func(ctx context.Context, number int) func(top.State) top.State {
		readings, source, err := selected.Readings(ctx, node, number)
		now := time.Now()
		return func(s top.State) top.State { return s.WithReadings(readings, source, err, now) }
	}
}

// askUsers asks who uses the GPUs. Those of a simulated node have made-up users, as their
// readings are, and nobody uses those of a file.
func (t toolkit) askUsers(c *cli.Context, node gpu.Node) (top.Question, error) {
	var madeUp lease.Report
	if at := t.nodeSelector(c); !at.IsHost() {
		if _, err := sim.Node(at.Node); err == nil {
			madeUp.Holders = sim.Holders(node)
		}
	}
	see := func(context.Context) (lease.Report, error) { return madeUp, nil }
	if t.nodeSelector(c).IsHost() {
		k, err := t.leaseKeeper(c, node)
		if err != nil {
			return nil, err
		}
		see = func(ctx context.Context) (lease.Report, error) { return ps.Look(ctx, k.Keeper) }
	}
	return func(ctx context.Context, _ int) func(top.State) top.State {
		report, err := see(ctx)
		now := time.Now()
		return func(s top.State) top.State { return s.WithUsers(report, err, now) }
	}, nil
}

// repeatTop prints a look every interval. The first waits for both answers; later ones are
// printed with old values if an answer takes longer than the interval.
func (t toolkit) repeatTop(ctx context.Context, c *cli.Context, view *top.Live) error {
	for {
		interval := time.NewTimer(view.State.Interval)
		var end <-chan time.Time
		if view.State.Complete() {
			end = interval.C
		}
		inTime := view.Look(ctx, end)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if c.String("output-format") == "yaml" {
			fmt.Fprint(t.Out, "---\n")
		}
		if err := t.printTop(c, view.State, true); err != nil {
			return err
		}
		if inTime { // otherwise the timer has ended the look
			select {
			case <-ctx.Done():
				return errInterrupted
			case <-interval.C:
			}
		}
	}
}

// printTop prints the state as -o says, JSON in one line if it is one of several.
func (t toolkit) printTop(c *cli.Context, s top.State, several bool) error {
	told := s.Top(time.Now())
	rows := [][]string{append([]string{}, top.Head...)}
	for _, g := range told.GPUs {
		rows = append(rows, g.Row())
	}
	below := "\n"
	if told.Summary != nil {
		below = summaryLine(*told.Summary)
	}
	below += told.Freshness().String() + "\n" + t.queueTable(told.Queue)
	return t.printRows(c, told, rows, below, several)
}
