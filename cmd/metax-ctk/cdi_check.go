package main

import (
	"cmp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/refresh"
)

func (t toolkit) cdiCheck(c *cli.Context) error {
	compare, err := t.comparison(c)
	if err != nil {
		return err
	}
	found, err := compare.Check()
	if err != nil {
		return err
	}
	if found.OK {
		return t.print(c, found, strings.Join(found.Files, ", ")+": up to date\n")
	}
	return cmp.Or[error](t.print(c, found, lines(found.Problems)+lines(found.Drift)), errProblems)
}

func (t toolkit) cdiDiff(c *cli.Context) error {
	compare, err := t.comparison(c)
	if err != nil {
		return err
	}
	drift, err := compare.Diff()
	if err != nil {
		return err
	}
	if len(drift) == 0 {
		return t.print(c, drift, "")
	}
	return cmp.Or[error](t.print(c, drift, lines(drift)), errProblems)
}

func (t toolkit) comparison(c *cli.Context) (refresh.Comparison, error) {
	maker, opt, err := t.specs(c)
	return refresh.Comparison{
		Maker: maker, Options: opt, ByClass: c.IsSet("class"), ByNames: c.IsSet("device-name-strategy"),
		Dirs: specDirs(c), Files: c.Args().Slice(),
	}, err
}
