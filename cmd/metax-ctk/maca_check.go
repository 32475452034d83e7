package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/discover/sysfs"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

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
