// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/assign"
	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/child"
	"github.com/metax-ctk/container-toolkit/internal/config"
	"github.com/metax-ctk/container-toolkit/internal/doctor"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/node"
	"github.com/metax-ctk/container-toolkit/internal/ps"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

func (t toolkit) doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "find what is wrong with the node, and how to fix it",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "check", Usage: "make only the checks `ID,...`; repeatable"},
			&cli.StringSliceFlag{Name: "skip", Usage: "leave out the checks `ID,...`; repeatable"},
			&cli.StringFlag{Name: "image", Usage: "also check whether the MXMACA of docker's image `IMAGE` suits the driver"},
			&cli.BoolFlag{Name: "list", Usage: "list the checks"},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "also list every check with its result"},
			&cli.BoolFlag{Name: "fix", Usage: "fix what can be fixed safely, asking before each step"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "with --fix: do not ask"},
		},
		Action: t.doctor,
	}
}

func (t toolkit) doctor(c *cli.Context) error {
	checks, err := doctor.Choose(c.StringSlice("check"), c.StringSlice("skip"))
	switch {
	case err != nil:
		return usageError(err)
	case c.Bool("yes") && !c.Bool("fix"):
		return usageErrorf("--yes needs --fix")
	case c.Bool("fix") && !t.nodeSelector(c).IsHost():
		return needsHost("doctor --fix", t.nodeSelector(c))
	case c.Bool("list"):
		return t.doctorList(c, checks)
	}
	report, err := t.diagnoseHost(c, checks)
	if err == nil && c.Bool("fix") {
		var changed bool
		if changed, err = t.fix(c, report); changed && err == nil {
			report, err = t.diagnoseHost(c, checks)
		}
	}
	if err != nil {
		return err
	}
	rows := [][]string{{"RESULT", "CHECK", "PASSES IF"}} // an ok does not say that the rest is true
	for _, r := range report.Results {
		rows = append(rows, []string{r.Result, r.Check, r.Title})
	}
	if !c.Bool("verbose") {
		report.Results, rows = nil, nil
	}
	if err := t.printResult(c, report, terminal.Table(rows)+report.Text()); err != nil {
		return err
	}
	switch {
	case report.Has("gpu-present"):
		return errNothing
	case !report.Healthy:
		return errProblems
	}
	return nil
}

func (t toolkit) doctorList(c *cli.Context, checks []doctor.Check) error {
	rows := [][]string{{"CHECK", "PASSES IF"}}
	for _, one := range checks {
		rows = append(rows, []string{one.ID, one.Title})
	}
	return t.printResult(c, checks, terminal.Table(rows))
}

// diagnoseHost looks at the host and judges what is there.
func (t toolkit) diagnoseHost(c *cli.Context, checks []doctor.Check) (report doctor.Report, err error) {
	at, done, err := t.nodeSelector(c).Unpack()
	if err != nil {
		return doctor.Report{}, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if !at.IsHost() {
		return doctor.Report{}, needsHost("doctor", at)
	}
	look, err := t.doctorConfig(c, at)
	if err != nil {
		return doctor.Report{}, err
	}
	return doctor.Diagnose(c.Context, look, checks)
}

// doctorConfig is where to look, and what to run.
func (t toolkit) doctorConfig(c *cli.Context, at node.Selector) (doctor.Config, error) {
	host, err := hostfs.New(at.Root)
	if err != nil {
		return doctor.Config{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return doctor.Config{}, fmt.Errorf("find metax-ctk: %w", err)
	}
	_, bad := loadSettings()
	look := doctor.Config{
		Root: host, RecordPath: node.RecordPath, Library: at.Library, SMI: at.Run, Getenv: func(string) string { return "" },
		Self: self, Version: toolkitVersion(), ConfigPath: config.Path, Settings: bad, Rules: t.settings.MACA.Rules(),
		SpecDirs: cdi.Dirs(),
		Trimmed:  !t.nodeSelector(c).IsHost(), LeaseDir: assign.Dir, DockerSocket: assign.DockerSocket,
		Image: c.String("image"),
	}
	quiet := t
	quiet.Err, quiet.warnings = io.Discard, new(warnings)
	look.Want = func(n gpu.Node, opt cdi.Options) (*specs.Spec, error) {
		if look.Trimmed && opt.Class == cdi.SoftwareClass {
			return nil, cdi.ErrNoHook // a snapshot has no programs
		}
		return refresh.Maker{
			Selector: at, Host: host, Node: func() (gpu.Node, error) { return n, nil }, Warn: func(...string) {},
		}.Spec(opt)
	}
	if look.Trimmed {
		look.Settings, look.Ask = nil, at.Run
		return look, nil
	}
	look.Leases = func(ctx context.Context, n gpu.Node) (lease.Report, error) {
		k, err := quiet.keeperOf(c, n, true)
		if err != nil {
			return lease.Report{}, err
		}
		keeper := k.Keeper
		if !host.Real() {
			keeper = ps.Narrow(keeper, ps.LeaseSource) // nothing on this machine uses that host's GPUs
		}
		report, err := keeper.Report(ctx)
		return withoutServed(report), err
	}
	if !host.Real() {
		look.Settings = nil
		return look, nil
	}
	look.Ask, look.Here, look.Getenv = child.Run, true, os.Getenv
	look.Asker, err = doctor.Me()
	return look, err
}

// fix takes the steps of findings that are safe, asking before those of each, and
// reports whether it took any. After a step that fails it goes on with the next finding.
func (t toolkit) fix(c *cli.Context, report doctor.Report) (bool, error) {
	answers, yes, took := bufio.NewReader(t.In), c.Bool("yes"), false
	for _, f := range report.Fixable() {
		fmt.Fprintln(t.Err, f)
		if !yes && !t.userConfirms(answers) {
			continue
		}
		for _, step := range f.Steps() {
			if err := c.Context.Err(); err != nil {
				return took, err
			}
			fmt.Fprintf(t.Err, "metax-ctk: doing: %s\n", terminal.Message(step.String()))
			if err := step.Do(c.Context, t.runSelf); err != nil {
				t.warn(fmt.Sprintf("%s: %v", step, err))
				break
			}
			took = true
		}
	}
	return took, nil
}

// userConfirms asks a person; every answer but yes is a no, also the end of input.
func (t toolkit) userConfirms(answers *bufio.Reader) bool {
	fmt.Fprint(t.Err, "do that? [y/N] ")
	line, err := answers.ReadString('\n')
	if err != nil {
		fmt.Fprintln(t.Err)
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line)))
}

// runSelf runs another metax-ctk command, whose output goes to standard error: standard
// output is for the report.
func (t toolkit) runSelf(ctx context.Context, args []string) error {
	d := t.deps
	d.Out = d.Err
	if code := runCommandLine(ctx, append([]string{"metax-ctk"}, args...), d); code != 0 {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}
