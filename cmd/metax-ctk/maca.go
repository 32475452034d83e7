package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

func (t toolkit) macaCommand() *cli.Command {
	return &cli.Command{
		Name:  "maca",
		Usage: "the MXMACA software of the host",
		Subcommands: []*cli.Command{
			{
				Name:  "list",
				Usage: "list MXMACA versions, and the driver's programs and libraries",
				Description: `The default is where /opt/maca leads. FOR CONTAINERS says what can be injected.
Exit code 3 if there is no MXMACA.

Example:
   metax-ctk maca list
   metax-ctk maca list -o json | jq -r '.installations[].version'`,
				Flags:  []cli.Flag{macaPathFlag()},
				Action: t.installations(t.macaList),
			},
			{
				Name:      "check",
				Usage:     "check an installation of MXMACA, and list what an image must bring for it",
				ArgsUsage: "[VERSION]",
				Description: `Without VERSION, the default is checked. Problems are libraries that are missing,
links that lead nowhere, files that are not libraries, an unknown version, and
a driver that is too old for it. Nothing of MXMACA is run. Exit code 4 if there is
a problem, 3 if there is no MXMACA.

Example:
   metax-ctk maca check
   metax-ctk maca check 3.3.0.15 -o json`,
				Flags:  []cli.Flag{macaPathFlag()},
				Action: t.installations(t.macaCheck),
			},
		},
	}
}

func macaPathFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "maca-path", EnvVars: []string{"MACA_PATH"},
		Usage: "also look at the MXMACA in `DIR`",
	}
}

// macaInstall is an installation as -o prints it.
type macaInstall struct {
	Kind    maca.Kind `json:"kind"`
	Version string    `json:"version"` // empty if not known
	Path    string    `json:"path"`
	Dir     string    `json:"dir"`
	Default bool      `json:"default"`
	// Givable reports whether it can be injected; Doubt is why not.
	Givable bool   `json:"givable"`
	Doubt   string `json:"doubt,omitempty"`
	// Libraries are its own; Missing and Problems also count those of the driver's.
	Libraries int `json:"libraries"`
	Missing   int `json:"missing"`
	Problems  int `json:"problems"`
}

// installations is an action on what is installed on the host, or on the host of a
// snapshot. Other nodes have no files.
func (t toolkit) installations(look func(*cli.Context, *hostfs.Root, maca.Listing) error) cli.ActionFunc {
	return func(c *cli.Context) (err error) {
		at, done, err := t.where(c).Unpack()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, done()) }()
		if !at.IsHost() {
			return usagef("node %q has no files, so it has no MXMACA to look at", at.Node)
		}
		host, err := hostfs.New(at.Root)
		if err != nil {
			return err
		}
		return look(c, host, maca.List(host, c.String("maca-path")))
	}
}

func (t toolkit) macaList(c *cli.Context, host *hostfs.Root, listing maca.Listing) error {
	t.warn(listing.Warnings...)
	found := struct {
		Installations []macaInstall `json:"installations"`
	}{[]macaInstall{}}
	for _, i := range listing.Installs {
		t.warn(i.Warnings...)
		found.Installations = append(found.Installations, described(i, maca.Inspect(host, i)))
	}
	err := t.print(c, found, macaTable(found.Installations))
	if err == nil && len(listing.MACA()) == 0 {
		_, err = listing.Choose("")
	}
	return err
}

// described is an installation and its libraries in the form that is printed.
func described(i maca.Install, looked maca.Inspection) macaInstall {
	m := macaInstall{
		Kind: i.Kind, Version: i.Version, Path: i.Path, Dir: i.Dir, Default: i.Default, Givable: i.Doubt == "", Doubt: i.Doubt,
		Missing: len(looked.Missing), Problems: len(looked.Problems),
	}
	for _, l := range looked.Libraries {
		if i.Kind == maca.KindDriver || !strings.HasPrefix(l.Path, maca.DriverPath+"/") {
			m.Libraries++
		}
	}
	return m
}

func macaTable(installs []macaInstall) string {
	if len(installs) == 0 {
		return ""
	}
	rows := [][]string{{"KIND", "VERSION", "PATH", "DIR", "DEFAULT", "LIBRARIES", "MISSING", "PROBLEMS", "FOR CONTAINERS"}}
	for _, i := range installs {
		row := []string{
			string(i.Kind), i.Version, i.Path, i.Dir, "", strconv.Itoa(i.Libraries), strconv.Itoa(i.Missing), strconv.Itoa(i.Problems), "yes",
		}
		if i.Default {
			row[4] = "yes"
		}
		if !i.Givable {
			row[8] = "no: " + i.Doubt
		}
		rows = append(rows, row)
	}
	return columns(rows)
}
