package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/bench/internal/trace"
)

const traceUsage = `test/bench/run trace [FLAGS]                generates jobs
test/bench/run trace [FLAGS] - < jobs.csv   reads them: columns arrival, gpus, duration and, if wanted,
                                            name; times in seconds, or durations such as 1h30m

Sends a trace of jobs through a simulated node, once by each policy, and compares. Generated jobs
arrive as a Poisson process and last exponentially long. Jobs start first come first served.

ACCEPTED    jobs that started
LINKED      of those for two or more GPUs, the ones joined by MetaXLink only
UTILISED    GPU time that jobs had, from the first arrival to the last end
FRAGMENTED  of what the free GPUs could serve in jobs of 8, 4 and 2 if they lay well, the part that
            they cannot serve by the node's best links; the mean over time

`

// usualMix is the default of -mix; a node gets those of its sizes that it has.
const usualMix = "1:4,2:3,4:2,8:1"

// traceSetting is what the flags of trace say.
type traceSetting struct {
	node, format string
	policies     []key.Policy
	trace.Options
	spec trace.Spec // the trace to generate
}

// runTrace is the laboratory of policies: it compares them over a trace of jobs, which it reads
// or generates, and writes a table, CSV or a picture.
func runTrace(args []string, in io.Reader, out io.Writer) error {
	set, read, err := parseTrace(args)
	if err != nil {
		return err
	}
	node, err := sim.Node(set.node)
	if err != nil {
		return err
	}
	gpus := node.Healthy()
	jobs, err := set.jobs(read, in, len(gpus))
	if err != nil {
		return err
	}
	if set.format == "jobs" {
		return trace.WriteCSV(out, jobs)
	}
	graph, _ := topology.New(node) // a simulated node gives no warnings
	results, err := trace.Compare(alloc.New(graph), set.policies, gpus, jobs, set.Options)
	if err != nil {
		return err
	}
	switch set.format {
	case "csv":
		return trace.FiguresCSV(out, results)
	case "timeline":
		return trace.TimelineCSV(out, results)
	}
	p := trace.Picture{
		Title:   node.Name + ": " + number(len(jobs), "job", "jobs") + ", " + number(len(results), "policy", "policies"),
		Note:    set.note(node, jobs, results[0].Never),
		Results: results,
	}
	if set.format == "svg" {
		return trace.SVG(out, p)
	}
	return trace.Table(out, p)
}

// parseTrace reads the command line; read reports whether the trace comes from standard input.
func parseTrace(args []string) (set traceSetting, read bool, err error) {
	flags := flag.NewFlagSet("trace", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), traceUsage)
		flags.PrintDefaults()
	}
	flags.StringVar(&set.node, "node", "c500-8", "a built-in node, or sim:AxBxC")
	policies := flags.String("policy", "spread,binpack,mtf,first", "policies, or all: "+alloc.PolicyWords)
	scope := flags.String("scope", "any", "the GPUs of a job must share this scope: link (MetaXLink only), switch (PCIe), numa or node; any does not limit them")
	flags.BoolVar(&set.Backfill, "backfill", false, "start later jobs that fit before earlier ones that do not")
	wait := flags.String("wait", "", "a job gives up after this time; with 0 there is no queue (default: as long as it takes)")
	flags.StringVar(&set.format, "format", "table", "table; csv: the figures; timeline: their course, as CSV; svg: a picture; jobs: the trace, as CSV")
	flags.IntVar(&set.spec.Jobs, "jobs", 10_000, "generate so many jobs")
	flags.Float64Var(&set.spec.Load, "load", 0.7, "generate jobs that request so many GPU-seconds per GPU-second of the node")
	mix := flags.String("mix", usualMix, "generate jobs of these sizes, each with its weight")
	mean := flags.String("mean-duration", "1h", "generate jobs of this mean duration")
	flags.Uint64Var(&set.spec.Seed, "seed", 1, "generate by this number; the same one makes the same jobs")
	if err := flags.Parse(args); err != nil {
		return set, false, err
	}
	read = slices.Equal(flags.Args(), []string{"-"})
	if flags.NArg() > 0 && !read {
		return set, false, fmt.Errorf("trace %s: the only argument is -, for jobs on standard input", strings.Join(flags.Args(), " "))
	}
	if !slices.Contains([]string{"table", "csv", "timeline", "svg", "jobs"}, set.format) {
		return set, false, fmt.Errorf("-format %q: want table, csv, timeline, svg or jobs", set.format)
	}
	set.Timeline = set.format == "timeline" || set.format == "svg"
	if *wait != "" {
		patience, err := trace.ParseTime(*wait)
		if err != nil {
			return set, false, fmt.Errorf("-wait %w", err)
		}
		set.Patience = &patience
	}
	if set.spec.MeanDuration, err = trace.ParseTime(*mean); err != nil {
		return set, false, fmt.Errorf("-mean-duration %w", err)
	}
	var errs [3]error
	set.policies, errs[0] = parsePolicies(*policies)
	set.Scope, errs[1] = alloc.ParseScope(*scope)
	set.spec.Mix, errs[2] = trace.ParseMix(*mix)
	return set, read, cmp.Or(errs[:]...)
}

// parsePolicies reads policies with commas between them. The comma within weighted:GAIN,LOSS
// belongs to the policy.
func parsePolicies(s string) ([]key.Policy, error) {
	if s == "all" {
		return alloc.Policies(), nil
	}
	var policies []key.Policy
	words := strings.Split(s, ",")
	for len(words) > 0 {
		n := 1
		if strings.HasPrefix(words[0], "weighted:") && len(words) > 1 {
			n = 2
		}
		p, err := alloc.ParsePolicy(strings.Join(words[:n], ","))
		if err != nil {
			return nil, err
		}
		if slices.Contains(policies, p) {
			return nil, fmt.Errorf("-policy %s names %v twice", s, p)
		}
		policies, words = append(policies, p), words[n:]
	}
	return policies, nil
}

// jobs reads the trace, or generates it for a node of so many GPUs.
func (set traceSetting) jobs(read bool, in io.Reader, gpus int) ([]trace.Job, error) {
	if read {
		return trace.ReadCSV(in)
	}
	spec := set.spec
	spec.GPUs = gpus
	if usual, err := trace.ParseMix(usualMix); err == nil && slices.Equal(spec.Mix, usual) {
		spec.Mix = slices.DeleteFunc(spec.Mix, func(p trace.Portion) bool { return p.GPUs > gpus })
	}
	return trace.Generate(spec)
}

// note reports how the trace was run.
func (set traceSetting) note(node gpu.Node, jobs []trace.Job, never int) string {
	gpus := len(node.Healthy())
	words := []string{number(gpus, "GPU", "GPUs")}
	if load := trace.Load(jobs, gpus); load > 0 {
		words = append(words, fmt.Sprintf("offered load %.2f", load))
	}
	switch {
	case set.Patience != nil && *set.Patience == 0:
		words = append(words, "no queue")
	case set.Backfill:
		words = append(words, "first come first served with backfill")
	default:
		words = append(words, "first come first served")
	}
	if set.Patience != nil && *set.Patience > 0 {
		words = append(words, fmt.Sprintf("giving up after %v s", *set.Patience))
	}
	if set.Scope != key.Any {
		words = append(words, "scope "+set.Scope.String())
	}
	if never > 0 {
		words = append(words, number(never, "job", "jobs")+" rejected that even the idle node cannot serve")
	}
	return strings.Join(words, ", ")
}

// number is n of a thing, in words.
func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
