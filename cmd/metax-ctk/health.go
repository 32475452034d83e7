// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/health"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) healthCommand() *cli.Command {
	looks := func(name string, value int, usage string) cli.Flag {
		return &cli.IntFlag{
			Name: name, Value: value, Usage: "with --watch: `N` looks in a row " + usage,
			Action: func(_ *cli.Context, n int) error {
				if n < 1 {
					return usageErrorf("--%s %d: want at least 1", name, n)
				}
				return nil
			},
		}
	}
	return &cli.Command{
		Name:  "health",
		Usage: "which GPUs are healthy, once or as it changes",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "ignore", Usage: "comma-separated `CODES` of problems that do not count"},
			&cli.StringFlag{Name: "exclude", Usage: "comma-separated `GPUS` to leave out: indices, UUIDs or PCI addresses"},
			&cli.BoolFlag{Name: "refresh", Usage: "have the specs written anew if the health has changed"},
			&cli.BoolFlag{Name: "watch", Usage: "print a line for each change until ended; JSON on one line each"},
			intervalFlag(5*time.Second, "with --watch: wait `TIME` between looks"),
			looks("bad", health.DefaultRules.Bad, "with a problem until a GPU is unhealthy"),
			looks("good", health.DefaultRules.Good, "without a problem until it is healthy again"),
			looks("failed", health.DefaultRules.Failed, "that fail until healthy GPUs are unknown"),
		},
		Action: t.health,
	}
}

// lookTimeout bounds a look: ten seconds each for metax-mxsml and mx-smi, and the end of each.
const lookTimeout = 30 * time.Second

func (t toolkit) health(c *cli.Context) error {
	if err := needWatch(c, "interval", "bad", "good", "failed"); err != nil {
		return err
	}
	if c.Bool("refresh") && (c.Bool("watch") || !t.nodeSelector(c).IsHost()) {
		return usageErrorf("--refresh is for one look at a host: leave out --watch and --node")
	}
	ignored := words(c.String("ignore"))
	for _, code := range ignored {
		if !health.IsCode(code) {
			return usageErrorf("--ignore %q: want %s or %s-N%s", code, strings.Join(health.Codes, ", "), health.Vendor,
				wording.Meant(code, health.Codes...))
		}
	}
	selector := t.nodeSelector(c)
	_, selector.In = selector.Kind() // from now on it can be read again
	if !c.Bool("watch") {
		selector = selector.AskOnce() // the look and the lost links have questions in common
	}
	looker := node.Looker{Take: selector.Health, Timeout: lookTimeout}
	look, err := looker.Look(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("refresh") {
		if err := t.refreshOn(c, look); err != nil {
			return err
		}
	}
	rules := health.Rules{Bad: c.Int("bad"), Good: c.Int("good"), Failed: c.Int("failed"), Ignore: ignored}
	for _, name := range words(c.String("exclude")) {
		key, ok := look.Key(name)
		if !ok {
			return usageErrorf("--exclude: %q is not a GPU of this node (metax-ctk device list)", name)
		}
		rules.Exclude = append(rules.Exclude, key)
	}
	state, changes := health.State{}.Next(look, rules)
	t.warnFailed("", state)
	if c.Bool("watch") {
		return t.watchHealth(c, &looker, rules, state, changes)
	}
	lost := selector.LostLinks(c.Context, state)
	report := healthReport{APIVersion: gpu.APIVersion, Kind: "Health", State: state, LostLinks: lost}
	report.readDriverErrors(c.Context, selector)
	if err := t.printResult(c, report, healthTable(state)+lostText(lost)+report.driverErrorsText()); err != nil {
		return err
	}
	if !state.AllHealthy() {
		return errProblems
	}
	return nil
}

// refreshOn has the record and the specs written anew if a look differs from the one before.
func (t toolkit) refreshOn(c *cli.Context, look health.Look) error {
	host, err := hostfs.New(t.nodeSelector(c).Root)
	if err != nil {
		return err
	}
	changed, err := refresh.OnHealth(host, look)
	if err != nil {
		return fmt.Errorf("note the health of the GPUs, for which root is needed: %w", err)
	}
	if program := t.settings.HealthExec.Text; changed && program != "" {
		if err := refresh.Exec(c.Context, program, look); err != nil {
			t.warn(err.Error())
		}
	}
	return nil
}

// words are the words of a list with commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// healthReport is the output of one look.
type healthReport struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	health.State
	// LostLinks are MetaXLinks between these GPUs; a lost link makes no GPU unhealthy.
	LostLinks topology.LostLinks `json:"lostLinks,omitempty"`
	// DriverErrors are from the kernel's log; an error there makes no GPU unhealthy.
	DriverErrors []node.DriverError `json:"driverErrors,omitempty"`
	// DriverErrorsUnknown is why that log could not be read, or not to its end.
	DriverErrorsUnknown string `json:"driverErrorsUnknown,omitempty"`
}

// lostText is a line for each state of lost links.
func lostText(lost topology.LostLinks) (text string) {
	for _, line := range lost.Lines() {
		text += line + "\n"
	}
	return text
}

// healthChange is one line of --watch.
type healthChange struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Generation int    `json:"generation"`
	health.Change
}

// watchHealth prints changes, and takes further looks until the context or a signal ends it.
func (t toolkit) watchHealth(c *cli.Context, looker *node.Looker, rules health.Rules, state health.State,
	changes []health.Change,
) error {
	ends := []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
	if signal.Ignored(syscall.SIGHUP) { // nohup
		ends = ends[:1]
	}
	ctx, stop := signal.NotifyContext(c.Context, ends...)
	defer stop()
	failed := state.Failed
	show := func(state health.State, changes []health.Change) error {
		t.warnFailed(failed, state)
		failed = state.Failed
		for _, change := range changes {
			if c.String("output-format") == "yaml" {
				if _, err := t.Out.Write([]byte("---\n")); err != nil {
					return err
				}
			}
			if err := t.printResult(c, healthChange{
				APIVersion: gpu.APIVersion, Kind: "HealthChange",
				Generation: state.Generation, Change: change,
			}, changeLine(change)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := show(state, changes); err != nil {
		return err
	}
	if err := looker.Watch(ctx, c.Duration("interval"), state, rules, show); ctx.Err() == nil {
		return err
	}
	return ended(ctx)
}

// ended returns the error for the end of a watch: none for a signal by which services end.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx).Error()
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if strings.HasPrefix(cause, s.String()) { // as signal.NotifyContext describes it
			return nil
		}
	}
	return errInterrupted
}

// warnFailed warns of a look that failed, unless the look before failed for the same reason.
func (t toolkit) warnFailed(before string, s health.State) {
	if s.Failed != "" && s.Failed != before {
		t.warn("the look at the GPUs failed: " + s.Failed)
	}
}

func healthTable(s health.State) string {
	rows := [][]string{{"GPU", "BDF", "UUID", "HEALTH", "CODE", "REASON"}}
	for _, c := range s.GPUs {
		rows = append(rows, []string{indexOf(c.GPU), bdfOf(c.GPU), string(c.UUID), c.Health, c.Code, c.Reason})
	}
	return terminal.Table(rows)
}

// changeLine is "GPU 3 0000:12:00.0: healthy -> unhealthy (vendor: mx-smi …)".
func changeLine(c health.Change) string {
	name := strings.Join(strings.Fields("GPU "+indexOf(c.GPU)+" "+bdfOf(c.GPU)), " ")
	now := c.Health
	if c.Before != "" && c.Before != c.Health {
		now = c.Before + " -> " + now
	}
	if c.Reason != "" {
		now += " (" + strings.TrimPrefix(c.Code+": "+c.Reason, ": ") + ")"
	}
	return name + ": " + now + "\n"
}

func indexOf(g health.GPU) string {
	if g.Index < 0 {
		return ""
	}
	return strconv.Itoa(g.Index)
}

func bdfOf(g health.GPU) string {
	if (g.BDF == gpu.BDF{}) {
		return ""
	}
	return g.BDF.String()
}

// intervalFlag is the pause between the looks of a command that repeats them.
func intervalFlag(value time.Duration, usage string) cli.Flag {
	return &cli.DurationFlag{
		Name: "interval", Value: value, Usage: usage,
		Action: func(_ *cli.Context, d time.Duration) error {
			if d < 100*time.Millisecond {
				return usageErrorf("--interval %s: want at least 100ms", d)
			}
			return nil
		},
	}
}
