package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/trace"
)

// traced is the comparison as -o prints it.
type traced struct {
	Node     string         `json:"node"`
	GPUs     int            `json:"gpus"` // those that may be given out
	Jobs     int            `json:"jobs"`
	Load     float64        `json:"load"` // GPU-seconds asked for per GPU-second
	Scope    string         `json:"scope"`
	Backfill bool           `json:"backfill"`
	Patience *trace.Time    `json:"patienceSeconds,omitempty"`
	Results  []trace.Result `json:"results"`
}

func (t toolkit) simTraceCommand() *cli.Command {
	return &cli.Command{
		Name:      "trace",
		Usage:     "send a trace of jobs through a node by several policies, and compare them",
		ArgsUsage: "[FILE.csv]",
		Description: `FILE is CSV with the columns arrival, gpus, duration and, if wanted, name; "-" is
standard input. Times are seconds, or durations such as 1h30m. With --generate
jobs arrive as a Poisson process and last exponentially long, from a seed. All
GPUs of the node that can be given are free at first, whoever holds them now. On
a node of more than 16 GPUs whose links do not nest, picks are searched for but
briefly.

Jobs start first come first served. --backfill lets one that fits start before
earlier ones that do not; nothing is reserved for those, and a stream of small
jobs can keep a large one waiting without end. --wait 0 has no queue.

ACCEPTED    jobs that started
LINKED      of those for two or more GPUs, the ones within one MetaXLink ring
UTILISED    GPU time that jobs had, from the first arrival to the last end
FRAGMENTED  of what the free GPUs could serve in jobs of 8, 4 and 2 if they lay
            well, the part that they cannot serve in rings of the node's best
            links; the mean over time

Examples:
   metax-ctk --node c500-8 sim trace --generate
   metax-ctk --node c500-8 sim trace jobs.csv --policy spread --policy first --scope link
   metax-ctk --node c500-8 sim trace --generate --load 0.9 --backfill --format svg > policies.svg
   metax-ctk --node c500-8 sim trace --generate --jobs 100 --format jobs > jobs.csv

Exit codes: 0 done; 1 the trace cannot be read; 2 usage; 3 no MetaX GPU here;
5 the node has no GPU to give; 130 interrupted.`,
		Flags: append(traceFlags(), outputFlag()), Action: t.simTrace,
	}
}

// usualMix is the mix of --generate; of it a node gets the sizes that it has.
const usualMix = "1:4,2:3,4:2,8:1"

func traceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "policy", Usage: "`POLICY`, once for each: " + alloc.PolicyWords + "; or all (default: spread, binpack, mtf and first)"},
		&cli.StringFlag{Name: "scope", Value: "any", Usage: "all GPUs of a job under one `SCOPE`: link, switch, numa, node; or any"},
		&cli.BoolFlag{Name: "backfill", Usage: "let later jobs that fit start before earlier ones that do not"},
		&cli.StringFlag{Name: "wait", Usage: "a job gives up after `DURATION`; with 0 one that does not fit at once is rejected (default: as long as it takes)"},
		&cli.BoolFlag{Name: "generate", Usage: "make a trace at random in place of FILE"},
		&cli.IntFlag{Name: "jobs", Value: 10_000, Usage: "generate `N` jobs"},
		&cli.Float64Flag{Name: "load", Value: 0.7, Usage: "generate jobs that ask for so many GPU-seconds per GPU-second of the node"},
		&cli.StringFlag{Name: "mix", Value: usualMix, Usage: "generate jobs of these `SIZES`, each with its weight; of the default those that the node has"},
		&cli.StringFlag{Name: "mean-duration", Value: "1h", Usage: "generate jobs that last `DURATION` on average"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "generate by `NUMBER`; the same one makes the same jobs"},
		&cli.StringFlag{Name: "format", Value: "table", Usage: "table; csv: the figures, or with --timeline their course; svg: a picture; jobs: the trace itself, as CSV"},
		&cli.BoolFlag{Name: "timeline", Usage: "with --format csv, or -o json or yaml: how the figures went over time"},
		&cli.BoolFlag{Name: "no-progress", Usage: "show no progress on the terminal"},
	}
}

func (t toolkit) simTrace(c *cli.Context) error {
	args, err := arguments(c, 0, 1)
	if err != nil {
		return err
	}
	if err := checkTraceFlags(c, len(args) > 0); err != nil {
		return err
	}
	policies, err := tracePolicies(c.StringSlice("policy"))
	if err != nil {
		return err
	}
	options, err := traceOptions(c)
	if err != nil {
		return err
	}
	node, err := t.node(c)
	if err != nil {
		return err
	}
	gpus := node.Healthy()
	if len(gpus) == 0 {
		return refusef("%s has no GPU that can be given as a whole", title(node))
	}
	jobs, err := t.traceJobs(c, args, len(gpus))
	if err != nil {
		return err
	}
	if c.String("format") == "jobs" {
		return trace.WriteCSV(t.Out, jobs)
	}
	var stop func()
	options.Done, stop = t.progress(c.Bool("no-progress"), len(jobs)*len(policies))
	results, err := trace.Compare(c.Context, alloc.New(t.graph(node)), policies, gpus, jobs, options)
	stop()
	if c.Context.Err() != nil {
		return interrupted{}
	} else if err != nil {
		return err
	}
	if never := results[0].Never; never > 0 {
		t.warn(plural(never, "job") + " rejected that even the idle node cannot serve")
	}
	result := traced{
		Node: title(node), GPUs: len(gpus), Jobs: len(jobs), Load: trace.Load(jobs, len(gpus)), Scope: options.Scope.String(),
		Backfill: options.Backfill, Patience: options.Patience, Results: results,
	}
	return t.print(c, result, func(w io.Writer) error { return result.render(w, c.String("format"), options.Timeline) })
}

// checkTraceFlags refuses options that have no meaning together.
func checkTraceFlags(c *cli.Context, file bool) error {
	format, structured := c.String("format"), c.String("output-format") != "table"
	switch {
	case !slices.Contains([]string{"table", "csv", "svg", "jobs"}, format):
		return usagef("unknown format %q: table, csv, svg or jobs", format)
	case file && c.Bool("generate"):
		return usagef("a file and --generate: want one of them")
	case !file && !c.Bool("generate"):
		return usagef("no trace: name a file, - for standard input, or --generate; see %s --help", c.Command.HelpName)
	case structured && c.IsSet("format"):
		return usagef("-o %s and --format %s: want one of them", c.String("output-format"), format)
	case c.Bool("timeline") && !structured && format != "csv":
		return usagef("--timeline goes with --format csv, -o json or -o yaml")
	}
	for _, name := range []string{"jobs", "load", "mix", "mean-duration", "seed"} {
		if c.IsSet(name) && !c.Bool("generate") {
			return usagef("--%s goes with --generate", name)
		}
	}
	return nil
}

func tracePolicies(words []string) ([]alloc.Policy, error) {
	switch {
	case len(words) == 0:
		return []alloc.Policy{alloc.Spread, alloc.Binpack, alloc.MTF, alloc.First}, nil
	case len(words) == 1 && words[0] == "all":
		return alloc.Policies(), nil
	}
	var policies []alloc.Policy
	for _, word := range words {
		if word == "all" {
			return nil, usagef("--policy all stands alone")
		}
		p, err := alloc.ParsePolicy(word)
		if err != nil {
			return nil, usageError{err}
		}
		if slices.Contains(policies, p) {
			return nil, usagef("--policy %s: policy %v is named twice", word, p)
		}
		policies = append(policies, p)
	}
	return policies, nil
}

func traceOptions(c *cli.Context) (trace.Options, error) {
	o := trace.Options{Backfill: c.Bool("backfill"), Timeline: c.Bool("timeline") || c.String("format") == "svg"}
	var err error
	if o.Scope, err = alloc.ParseScope(c.String("scope")); err != nil {
		return o, usageError{err}
	}
	if c.IsSet("wait") {
		patience, err := trace.ParseTime(c.String("wait"))
		if err != nil {
			return o, usagef("--wait %w", err)
		}
		o.Patience = &patience
	}
	return o, nil
}

// traceJobs makes the trace, or reads it.
func (t toolkit) traceJobs(c *cli.Context, args []string, gpus int) ([]trace.Job, error) {
	if !c.Bool("generate") {
		return t.readTrace(c.Context, args[0])
	}
	mix, err := trace.ParseMix(c.String("mix"))
	if err != nil {
		return nil, usagef("--mix: %w", err)
	}
	if !c.IsSet("mix") {
		mix = slices.DeleteFunc(mix, func(p trace.Portion) bool { return p.GPUs > gpus })
	}
	mean, err := trace.ParseTime(c.String("mean-duration"))
	if err != nil {
		return nil, usagef("--mean-duration %w", err)
	}
	jobs, err := trace.Generate(trace.Spec{
		Jobs: c.Int("jobs"), GPUs: gpus, Load: c.Float64("load"), Mix: mix, MeanDuration: mean, Seed: c.Uint64("seed"),
	})
	if err != nil {
		return nil, usageError{err}
	}
	return jobs, nil
}

// readTrace reads a file, or standard input for "-", and does not wait for one that
// says nothing once the context ends.
func (t toolkit) readTrace(ctx context.Context, name string) ([]trace.Job, error) {
	type answer struct {
		jobs []trace.Job
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		jobs, err := t.openTrace(name)
		read <- answer{jobs, err}
	}()
	select {
	case <-ctx.Done():
		return nil, interrupted{}
	case a := <-read:
		return a.jobs, a.err
	}
}

func (t toolkit) openTrace(name string) ([]trace.Job, error) {
	in := t.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read trace: %w", err)
		}
		defer file.Close()
		in = file
	}
	jobs, err := trace.ReadCSV(in)
	if err != nil {
		return nil, fmt.Errorf("read trace %s: %w", name, err)
	}
	return jobs, nil
}
