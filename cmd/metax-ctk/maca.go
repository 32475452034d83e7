// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/terminal"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

func (t toolkit) macaCommand() *cli.Command {
	return &cli.Command{
		Name:  "maca",
		Usage: "the MXMACA software of the host",
		Subcommands: []*cli.Command{
			{
				Name:   "list",
				Usage:  "list MXMACA versions, and the driver's programs and libraries",
				Flags:  []cli.Flag{macaPathFlag()},
				Action: t.installations(t.macaList),
			},
			{
				Name:      "check",
				Usage:     "check an installation of MXMACA, and list what an image must bring for it",
				ArgsUsage: "[VERSION]",
				Flags:     []cli.Flag{macaPathFlag()},
				Action:    t.installations(t.macaCheck),
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

// installations is an action on what is installed on the host, or on the host of a
// snapshot. Other nodes have no files.
func (t toolkit) installations(look func(*cli.Context, *hostfs.Root, maca.Listing) error) cli.ActionFunc {
	return func(c *cli.Context) (err error) {
		at, done, err := t.nodeSelector(c).Unpack()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, done()) }()
		if !at.IsHost() {
			return usageErrorf("node %q has no files, so it has no MXMACA to look at", at.Node)
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
		Installations []maca.Summary `json:"installations"`
	}{[]maca.Summary{}}
	for _, i := range listing.Installs {
		t.warn(i.Warnings...)
		found.Installations = append(found.Installations, maca.Summarize(i, maca.Inspect(host, i)))
	}
	err := t.printResult(c, found, macaTable(found.Installations))
	if err == nil && len(listing.MACA()) == 0 {
		_, err = listing.Choose("")
	}
	return err
}

func macaTable(installs []maca.Summary) string {
	if len(installs) == 0 {
		return ""
	}
	rows := [][]string{{"KIND", "VERSION", "PATH", "DIR", "DEFAULT", "LIBRARIES", "MISSING", "PROBLEMS", "FOR CONTAINERS"}}
	for _, i := range installs {
		row := []string{
			string(i.Kind), i.Version, i.Path, i.Dir, "", strconv.Itoa(i.Libraries), strconv.Itoa(i.Missing),
			strconv.Itoa(i.Problems), "yes",
		}
		if i.Default {
			row[4] = "yes"
		}
		if !i.Givable {
			row[8] = "no: " + i.Doubt
		}
		rows = append(rows, row)
	}
	return terminal.Table(rows)
}

// macaCheck checks the installation of a version, or the one that counts.
func (t toolkit) macaCheck(c *cli.Context, host *hostfs.Root, listing maca.Listing) error {
	install, err := listing.Choose(c.Args().First())
	if err != nil {
		return err
	}
	driver := sysfs.ReadModule(host, map[string]sysfs.Unpack{".zst": unzstd})
	t.warn(driver.Warnings...)
	found := maca.Check(install, maca.Inspect(host, install), driver, t.settings.MACA.Rules(), listing.Warnings)
	if err := t.printResult(c, found, macaCheckedText(found)); err != nil || found.OK {
		return err
	}
	return errProblems
}

func macaCheckedText(m maca.Checked) string {
	var b strings.Builder
	fmt.Fprintf(&b, "MXMACA %s in %s, libraries: %d\n", cmp.Or(fmt.Sprintf("%.80s", m.MACA.Version), "of unknown version"),
		m.MACA.Dir, m.MACA.Libraries)
	fmt.Fprintf(&b, "driver: %s\n", m.Compat.Reason)
	if !m.Driver.Loaded {
		fmt.Fprintf(&b, "driver: the kernel module metax is not loaded\n")
	}
	for _, d := range m.Image {
		fmt.Fprintf(&b, "an image must bring: %s\n", strings.TrimSpace(d.Name+" "+strings.Join(d.Versions, " ")))
	}
	for _, p := range m.Problems {
		fmt.Fprintf(&b, "problem: %s%s\n", p.Message, neededBy(p.By))
	}
	if m.OK {
		fmt.Fprintln(&b, "no problem found")
	}
	return b.String()
}

// neededBy names the libraries that something is missing for, a few of them.
func neededBy(by []string) string {
	if len(by) == 0 {
		return ""
	}
	return "; needed by " + wording.Some(by, 3)
}

// unzstd unpacks a module of a distribution that compresses its modules by zstd.
func unzstd(r io.Reader) (io.ReadCloser, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(128<<20))
	if err != nil {
		return nil, err
	}
	return z.IOReadCloser(), nil
}
