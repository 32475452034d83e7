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

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
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

// macaChecked is what check found, as -o prints it.
type macaChecked struct {
	OK      bool        `json:"ok"`
	MACA    macaInstall `json:"maca"`
	Machine string      `json:"machine"` // "EM_X86_64", empty without libraries
	Driver  macaDriver  `json:"driver"`
	// Compat is what the rules say of both versions.
	Compat compat.Verdict `json:"compat"`
	// Problems are what makes the exit code 4.
	Problems []macaProblem `json:"problems"`
	// Image is what an image must bring: libraries that are the host system's.
	Image []maca.Demand `json:"image"`
}

type macaDriver struct {
	Version string `json:"version"` // empty if not known
	File    string `json:"file"`    // where the version is from
	Loaded  bool   `json:"loaded"`
}

type macaProblem struct {
	Kind    string   `json:"kind"`
	Message string   `json:"message"`
	By      []string `json:"by"` // the libraries that are concerned, by path
}

// macaCheck checks the installation of a version, or the one that counts.
func (t toolkit) macaCheck(c *cli.Context, host *hostfs.Root, listing maca.Listing) error {
	install, err := listing.Choose(c.Args().First())
	if err != nil {
		return err
	}
	driver := sysfs.ReadModule(host, map[string]sysfs.Unpack{".zst": unzstd})
	t.warn(driver.Warnings...)
	found := macaCheckOf(install, maca.Inspect(host, install), driver, t.settings.MACA.Rules())
	for _, w := range listing.Warnings {
		found.problem("broken", w, nil)
	}
	found.OK = len(found.Problems) == 0
	if err := t.print(c, found, found.table()); err != nil || found.OK {
		return err
	}
	return errProblems
}

// macaCheckOf judges what was found. A driver that does not fit is a problem; one of
// which that is unknown is not.
func macaCheckOf(i maca.Install, looked maca.Inspection, driver sysfs.Module, rules []compat.Rule) *macaChecked {
	found := &macaChecked{
		MACA:     described(i, looked),
		Machine:  looked.Machine,
		Driver:   macaDriver{driver.Version, driver.File, driver.Loaded},
		Compat:   compat.Check(rules, i.Version, driver.Version),
		Problems: []macaProblem{},
		Image:    append([]maca.Demand{}, looked.Image...),
	}
	for _, w := range i.Warnings {
		found.problem("version", w, nil)
	}
	if i.Doubt != "" {
		found.problem("place", i.Doubt, nil)
	}
	if len(looked.Libraries) == 0 {
		found.problem("libraries", "no shared library in "+i.Path, nil)
	}
	for _, m := range looked.Missing {
		found.problem("missing", "no library "+m.Name+" on this host", m.By)
	}
	for _, p := range looked.Problems {
		found.problem(p.Kind, p.Text, nil)
	}
	if found.Compat.State == compat.Mismatch {
		found.problem("driver", found.Compat.Reason, nil)
	}
	return found
}

func (m *macaChecked) problem(kind, message string, by []string) {
	m.Problems = append(m.Problems, macaProblem{kind, message, append([]string{}, by...)})
}

func (m *macaChecked) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "MXMACA %s in %s, libraries: %d\n", cmp.Or(fmt.Sprintf("%.80s", m.MACA.Version), "of unknown version"), m.MACA.Dir, m.MACA.Libraries)
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
