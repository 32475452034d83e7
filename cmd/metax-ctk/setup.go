// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/doctor"
	"github.com/metax-ctk/container-toolkit/internal/engine"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/setup"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) setupCommand() *cli.Command {
	return &cli.Command{
		Name:  "setup",
		Usage: "make this host ready for containers with GPUs, in one go",
		Flags: []cli.Flag{
			hookFlag(),
			&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print what would change"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "restart engines without asking"},
			&cli.BoolFlag{Name: "undo", Usage: "take the settings out of every engine"},
			&cli.StringFlag{Name: "backup-dir", Hidden: true},
		},
		Action: t.setup,
	}
}

// hostSetup is what setup did, and what is left to do.
type hostSetup struct {
	Ready    bool              `json:"ready"`
	GPUs     int               `json:"gpus"`
	Specs    []refresh.Written `json:"specs,omitempty"`
	Drift    []cdi.Difference  `json:"drift,omitempty"` // what a dry run would change in the specs
	Engines  []setup.Outcome   `json:"engines"`
	Groups   []string          `json:"groups,omitempty"` // those that may use the GPUs
	Findings []doctor.Finding  `json:"findings,omitempty"`
	Next     []string          `json:"next"` // commands, in this order
}

func (t toolkit) setup(c *cli.Context) error {
	host, err := t.setupHost(c)
	switch {
	case err != nil:
		return err
	case c.Bool("undo") && c.Bool("yes"):
		return usageErrorf("--undo and --yes exclude one another: --undo restarts no engine")
	case host.Root.Real() && os.Geteuid() != 0:
		return errors.New("setup writes files of this host and restarts engines, so it needs root: sudo metax-ctk setup")
	}
	done := hostSetup{Engines: []setup.Outcome{}, Next: []string{}}
	var node gpu.Node
	if !c.Bool("undo") {
		if node, err = t.loadNode(c); err != nil {
			return err
		}
		done.GPUs, done.Groups = len(node.GPUs), host.Groups(node)
		if done.Specs, done.Drift, err = t.setupSpecs(c); err != nil {
			return err
		}
	}
	store, err := setupStore(c, &host)
	if err != nil {
		return err
	}
	order := setup.Order{
		Engine: setup.Auto, Setup: engine.Setup{Name: setup.DefaultName, CDI: true, Hook: c.String("hook")},
		Remove: c.Bool("undo"), DryRun: c.Bool("dry-run"), Store: store,
		Node: func() (gpu.Node, error) { return node, nil },
	}
	if done.Engines, err = host.Do(c.Context, order); done.Engines == nil {
		return err
	}
	if !order.DryRun && !order.Remove {
		err = errors.Join(err, host.Finish(c.Context, order, done.Engines, t.restartAgreed(c)))
		report, bad := t.diagnoseHost(c, doctor.Checks())
		done.Findings, err = report.Findings, errors.Join(err, bad)
	}
	return t.setupVerdict(c, done, err)
}

// setupVerdict prints what was done and what comes next, beside the error of engines that
// failed.
func (t toolkit) setupVerdict(c *cli.Context, done hostSetup, failed error) error {
	changes := !c.Bool("dry-run") && !c.Bool("undo")
	for _, e := range done.Engines {
		if e.Activate != "" && !e.Activated && !c.Bool("dry-run") {
			done.Next = append(done.Next, "sudo "+e.Activate)
		}
	}
	waits := changes && len(done.Next) > 0
	problems := slices.ContainsFunc(done.Engines, setup.Outcome.Failed) ||
		slices.ContainsFunc(done.Findings, func(f doctor.Finding) bool { return f.Severity == doctor.Error })
	done.Ready = changes && failed == nil && !problems && !waits
	switch {
	case waits:
		done.Next = append(done.Next, "sudo metax-ctk setup")
	case done.Ready:
		done.Next = append(done.Next, "metax-docker run --rm --gpus=1 ubuntu ls /dev/dri")
	}
	err := t.printResult(c, done, done.text(c.Bool("dry-run")))
	switch {
	case failed != nil || err != nil:
		return errors.Join(failed, err)
	case waits:
		return exitError{errPrinted, exitFailed}
	case problems:
		return errProblems
	}
	return nil
}

// setupSpecs writes the CDI specs, or in a dry run returns how those that are there differ.
func (t toolkit) setupSpecs(c *cli.Context) ([]refresh.Written, []cdi.Difference, error) {
	maker, opt, err := t.specMaker(c)
	if err != nil {
		return nil, nil, err
	}
	opt.Vendor, opt.Class = cdi.DefaultVendor, cdi.DefaultClass // setup has no options for them
	if c.Bool("dry-run") {
		drift, err := refresh.Comparison{Maker: maker, Options: opt, Dirs: cdi.Dirs()}.Diff()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, []cdi.Difference{{Op: cdi.Added, Field: cdi.Path(opt.Vendor, opt.Class, cdi.JSON)}}, nil
		}
		return nil, drift, err
	}
	done, err := refresh.Job{Maker: maker, Options: opt, Format: cdi.JSON, All: true}.Run(c.Context)
	return append([]refresh.Written{done.Written}, done.Others...), nil, err
}

// restartAgreed asks a person whether an engine may restart. Without a terminal nobody can say
// so.
func (t toolkit) restartAgreed(c *cli.Context) func(setup.Outcome) bool {
	answers := bufio.NewReader(t.In)
	return func(e setup.Outcome) bool {
		switch {
		case c.Bool("yes"):
			return true
		case !isTerminalInput(t.In):
			return false
		}
		fmt.Fprintf(t.Err, "metax-ctk: %s has to restart (%s), which %s; ", e.Engine, e.Activate,
			terminal.Line(whatStops(e.Stops)))
		return t.userConfirms(answers)
	}
}

// isTerminalInput reports whether a person types there.
func isTerminalInput(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && isTerminal(f)
}

// whatStops says which containers a restart stops.
func whatStops(names []string) string {
	if len(names) == 0 {
		return "stops no container"
	}
	return "stops " + wording.Count(len(names), "container") + ": " + strings.Join(names, ", ")
}

// text is the setup for a person.
func (s hostSetup) text(dry bool) string {
	w := new(strings.Builder)
	if s.GPUs > 0 {
		fmt.Fprintf(w, "node: %s\n", wording.Count(s.GPUs, "GPU"))
	}
	w.WriteString(joinLines(s.Specs) + joinLines(s.Drift) + outcomeText(s.Engines, dry))
	for _, g := range s.Groups {
		fmt.Fprintf(w, "group %s: its members, and root, may open the GPUs: sudo usermod -aG %[1]s USER\n", terminal.Line(g))
	}
	for _, f := range s.Findings {
		fmt.Fprintln(w, f)
	}
	if s.Ready {
		fmt.Fprintln(w, "ready")
	}
	for _, line := range s.Next {
		fmt.Fprintf(w, "next: %s\n", line)
	}
	return w.String()
}
