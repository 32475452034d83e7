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
	"github.com/metax-ctk/container-toolkit/internal/top"
)

func (t toolkit) topCommand() *cli.Command {
	return &cli.Command{
		Name:  "top",
		Usage: "the GPUs at work: readings, users and the queue, live",
		Description: `Shows for each GPU its utilisation, memory, temperature, power, MetaXLink ports that
are up, and who uses it, and below them the requests that wait. On a terminal the view
is live; otherwise it is printed once. JSON is one value per interval, in a line.

Readings come from the vendor's library, or from mx-smi, each in a process of its own.
If the tool hangs, the view goes on with the last readings in grey and their age.
"-" is not known. Readings of a simulated node are made up.

Keys: q quits, s sorts by another column, p pauses, up and down scroll, ? is help. A
set NO_COLOR switches colours off.

Examples:
   metax-ctk top
   metax-ctk top --once
   metax-ctk --node c500-8 top
   metax-ctk top -o json | jq -c '[.gpus[].reading.utilizationPercent]'

Exit codes: 0 done; 1 the view cannot be drawn; 3 no MetaX GPU here;
130 interrupted.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "once", Usage: "print one look and end"},
			intervalFlag(2*time.Second, "`TIME` between two looks"),
		},
		Action: t.top,
	}
}

func (t toolkit) top(c *cli.Context) error {
	t = t.warnUnknown(c)
	// The vendor's tool may hang: it is asked for readings alone, beside the view.
	quick := t
	quick.Library, quick.Run = nil, nil
	node, err := quick.selected(c).Load(c.Context)
	if err != nil {
		return err
	}
	live := c.String("output-format") == "table" && !c.Bool("once") && isTerminal(t.Out)
	keeper := t
	if live {
		keeper = t.behindScreen()
	}
	users, err := keeper.askUsers(c, node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Context)
	readings := t.askReadings(c, node)
	defer func() {
		cancel()
		readings.wait()
		users.wait()
	}()
	m := top.Model{State: top.State{Node: node, Interval: c.Duration("interval")}}
	switch {
	case live:
		return t.drawTop(ctx, m, readings, users)
	case c.Bool("once"), c.String("output-format") == "table":
		state := look(ctx, m.State, readings, users, nil)
		if ctx.Err() != nil {
			return errInterrupted
		}
		return t.printTop(c, state, false)
	}
	return t.repeatTop(ctx, c, m.State, readings, users)
}

// behindScreen returns the toolkit for what runs while a view fills the terminal: the view says
// what is missing, so nothing is printed, and a log on standard error stands still.
func (t toolkit) behindScreen() toolkit {
	t.Err, t.warnings = io.Discard, new(warnings)
	if t.log.printed {
		t.log = new(journal)
	}
	return t
}

// topUpdate is what a look changes.
type topUpdate func(top.State) top.State

// asker asks one question again and again, one at a time, beside the view.
type asker struct {
	ask     func(ctx context.Context, number int) topUpdate
	asked   int            // how often
	running chan topUpdate // nil while it does not ask
}

// start asks, unless it still waits for an answer.
func (a *asker) start(ctx context.Context) {
	if a.running != nil {
		return
	}
	answer, number := make(chan topUpdate, 1), a.asked
	a.asked++
	a.running = answer
	go func() { answer <- a.ask(ctx, number) }()
}

// wait waits for the last answer. The programs that it asks have been told to end.
func (a *asker) wait() {
	if a.running != nil {
		<-a.running
	}
}

func (t toolkit) askReadings(c *cli.Context, node gpu.Node) *asker {
	selected := t.selected(c)
	return &asker{ask: func(ctx context.Context, number int) topUpdate {
		readings, source, err := selected.Readings(ctx, node, number)
		now := time.Now()
		return func(s top.State) top.State { return s.WithReadings(readings, source, err, now) }
	}}
}

// askUsers asks who uses the GPUs; nobody uses those of a node that is not a host.
func (t toolkit) askUsers(c *cli.Context, node gpu.Node) (*asker, error) {
	see := func(context.Context) (lease.Report, error) { return lease.Report{}, nil }
	if t.selected(c).IsHost() {
		k, err := t.keeper(c, node)
		if err != nil {
			return nil, err
		}
		see = func(ctx context.Context) (lease.Report, error) { return ps.Look(ctx, k.Keeper) }
	}
	return &asker{ask: func(ctx context.Context, _ int) topUpdate {
		report, err := see(ctx)
		now := time.Now()
		return func(s top.State) top.State { return s.WithUsers(report, err, now) }
	}}, nil
}

// look returns the state after both answers, or with those that came by the end.
func look(ctx context.Context, s top.State, readings, users *asker, end <-chan time.Time) top.State {
	readings.start(ctx)
	users.start(ctx)
	for readings.running != nil || users.running != nil {
		select {
		case u := <-readings.running:
			s, readings.running = u(s), nil
		case u := <-users.running:
			s, users.running = u(s), nil
		case <-end:
			return s
		}
	}
	return s
}

// repeatTop prints a look every interval. The first waits for both answers; later ones are
// printed with old values if an answer takes longer than the interval.
func (t toolkit) repeatTop(ctx context.Context, c *cli.Context, s top.State, readings, users *asker) error {
	for {
		interval := time.NewTimer(s.Interval)
		var end <-chan time.Time
		if s.Complete() {
			end = interval.C
		}
		s = look(ctx, s, readings, users, end)
		if ctx.Err() != nil {
			return errInterrupted
		}
		if c.String("output-format") == "yaml" {
			fmt.Fprint(t.Out, "---\n")
		}
		if err := t.printTop(c, s, true); err != nil {
			return err
		}
		// The timer may have ended the look.
		if readings.running == nil && users.running == nil {
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
	table := columns(rows) + "\n"
	if told.Summary != nil {
		table = columns(rows) + summaryLine(*told.Summary)
	}
	table += told.Freshness().String() + "\n" + queueTable(told.Queue)
	return t.write(c, told, table, several)
}
