package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/doctor"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
)

// fix takes the steps of findings that are safe, asking before those of each, and
// reports whether it took any. After a step that fails it goes on with the next finding.
func (t toolkit) fix(c *cli.Context, report doctor.Report) (bool, error) {
	answers, yes, took := bufio.NewReader(t.In), c.Bool("yes"), false
	for _, f := range report.Fixable() {
		fmt.Fprintln(t.Err, f)
		if !yes && !t.agrees(answers) {
			continue
		}
		for _, step := range f.Steps() {
			if err := c.Context.Err(); err != nil {
				return took, err
			}
			fmt.Fprintf(t.Err, "metax-ctk: doing: %s\n", terminal.Message(step.String()))
			if err := step.Do(c.Context, t.again); err != nil {
				t.warn(fmt.Sprintf("%s: %v", step, err))
				break
			}
			took = true
		}
	}
	return took, nil
}

// agrees asks a person; every answer but yes is a no, also the end of input.
func (t toolkit) agrees(answers *bufio.Reader) bool {
	fmt.Fprint(t.Err, "do that? [y/N] ")
	line, err := answers.ReadString('\n')
	if err != nil {
		fmt.Fprintln(t.Err)
	}
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line)))
}

// again runs another metax-ctk command, whose output goes to standard error: standard
// output is for the report.
func (t toolkit) again(ctx context.Context, args []string) error {
	d := t.deps
	d.Out = d.Err
	if code := run(ctx, append([]string{"metax-ctk"}, args...), d); code != 0 {
		return fmt.Errorf("exit code %d", code)
	}
	return nil
}
