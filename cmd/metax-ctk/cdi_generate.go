package main

import (
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/refresh"
)

func (t toolkit) cdiGenerate(c *cli.Context) error {
	maker, opt, err := t.specs(c)
	if err != nil {
		return err
	}
	opt.Partial = c.Bool("force")
	format, err := specFormat(c)
	if err != nil {
		return err
	}
	at, settle := maker.Where, c.Duration("settle")
	switch {
	case !at.IsHost() && !c.IsSet("output"):
		return usagef("the devices of node %q are not on this host; say where its spec goes: --output FILE, or --output -", at.Node)
	case !at.IsHost() && c.IsSet("settle"):
		return needsHost("cdi generate --settle", at)
	case settle < 0:
		return usagef("--settle %v: want a time such as 30s", settle)
	}
	done, err := refresh.Job{
		Maker: maker, Options: opt, Format: format, Output: c.String("output"), Settle: settle,
		All: !c.IsSet("class") && !c.IsSet("output"),
	}.Run(c.Context)
	switch {
	case err != nil:
		return err
	case done.Text != nil:
		_, err = t.Out.Write(done.Text)
		return err
	}
	return t.print(c, done, lines(append([]refresh.Written{done.Written}, done.Others...)))
}

// specFormat is the notation that --format states, or else the output's name.
func specFormat(c *cli.Context) (cdi.Format, error) {
	if word := c.String("format"); word != "" {
		format, err := cdi.ParseFormat(word)
		if err != nil {
			return "", usageError(err)
		}
		return format, nil
	}
	if format, ok := cdi.FormatOf(c.String("output")); ok {
		return format, nil
	}
	return cdi.JSON, nil
}
