// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/dockerargs"
	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/image"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// MACA is a command line that may request the host's MXMACA, and what the decision needs.
type MACA struct {
	Command dockerargs.Command
	Host    *hostfs.Root // where the node's files are; nil where neither line nor configuration requests MXMACA
	Root    string       // its absolute path on this machine
	Driver  *gpu.Driver  // nil where it is not known
	Inject  string       // the requested way: dockerargs.InjectAuto, InjectCDI or InjectFlags
	Default bool         // the configuration requests it, for an image that has none
	Service bool         // the command stands for a service of compose, whose options name MXMACA
	Check   string       // whether versions are compared: dockerargs.MACACheckOff, …, or empty
	Rules   []compat.Rule
	Image   func() (image.Facts, error) // what the command's image has
	Daemon  func() Daemon
	EnvFile func(path string) (string, error)         // the text of a file of --env-file
	Getenv  func(name string) (value string, ok bool) // the caller's variables
}

// Note is something to tell the user.
type Note struct {
	Warning bool
	Text    string
}

// Edits returns what gives the container the host's MXMACA, empty where it is not
// requested, or where the image has its own and that is not overridden. Either way it
// compares the version that the container will run on with the driver's. The notes are in
// order, and there may be some beside an error.
func (m MACA) Edits() (edits.Edits, []Note, error) {
	d := macaDecision{MACA: m}
	e, err := d.edits()
	return e, d.notes, err
}

// macaDecision is the way to the edits, in the order of its fields.
type macaDecision struct {
	MACA
	install maca.Install
	image   image.Facts
	notes   []Note
}

func (d *macaDecision) warn(format string, a ...any) {
	d.notes = append(d.notes, Note{Warning: true, Text: fmt.Sprintf(format, a...)})
}

func (d *macaDecision) edits() (none edits.Edits, err error) {
	o := d.Command.Options.MACA
	switch {
	case o.Given:
		return d.requested()
	case d.Default && !o.Off:
		return d.byDefault()
	}
	return none, d.checkImage()
}

// byDefault returns the edits that the configuration requests. What stands in their way
// is not an error, because the line does not request them.
func (d *macaDecision) byDefault() (none edits.Edits, err error) {
	if err = d.choose(); err == nil {
		d.image, err = d.Image()
	}
	switch {
	case errors.Is(err, context.Canceled):
		return none, err
	case errors.Is(err, maca.ErrNone):
		return none, d.checkImage()
	case err != nil:
		d.warn(notByDefault, err, d.word("--maca=false", `the option maca: "false" of the service`))
		return none, nil
	case d.image.MACA != nil || d.image.Empty || d.image.Unusable != "" || d.mountPoint() != "":
		return none, d.checkImage()
	}
	e, err := d.give()
	if unlisted := (*UnlistedError)(nil); errors.As(err, &unlisted) {
		d.warn(notByDefault, err, d.word("--maca=false", `the option maca: "false" of the service`))
		return none, nil
	}
	return e, err
}

// notByDefault is why a line starts without what the configuration requests.
const notByDefault = "MXMACA is not given, as maca.default requests: %v (for none: %s)"

// word returns how a command line names something, or how a service of compose does.
func (d *macaDecision) word(line, service string) string {
	if d.Service {
		return service
	}
	return line
}

// option names the option that requests MXMACA.
func (d *macaDecision) option() string { return d.word("--maca", "option maca") }

// requested returns the edits that the line requests.
func (d *macaDecision) requested() (none edits.Edits, err error) {
	o := d.Command.Options.MACA
	if err := d.choose(); err != nil {
		return none, err
	}
	if d.image, err = d.Image(); errors.Is(err, image.ErrUninspectable) {
		return none, fmt.Errorf("%w; where the image has no MXMACA, give it the CDI device instead: --device %s=host", err,
			request.SoftwareKind)
	} else if err != nil {
		return none, err
	}
	own := d.image.MACA
	kept := own != nil && !o.Force
	if !kept && d.image.Unusable != "" {
		return none, fmt.Errorf("image %s: %s: no place for the host's MXMACA", d.Command.Image, d.image.Unusable)
	}
	for _, line := range d.image.Warnings {
		d.warn("image %s: %s", d.Command.Image, line)
	}
	if kept {
		text := fmt.Sprintf("the image has MXMACA%s of its own in %s, which is kept", spaced(own.Version), own.Path)
		if !d.Service {
			text += fmt.Sprintf(" (--maca-force gives the host's%s)", spaced(d.install.Version))
		}
		d.notes = append(d.notes, Note{Text: text})
		return none, d.checkVersion(own.Version)
	}
	if at := d.mountPoint(); at != "" {
		return none, fmt.Errorf("%s: something else is to be mounted at %s: leave out one of the two", d.option(), at)
	}
	return d.give()
}

// mountPoint is where the user mounts something in the place of MXMACA; empty if there is
// no such mount.
func (d *macaDecision) mountPoint() string {
	for _, at := range d.Command.Flags.MountPoints() {
		if at == maca.Path || at == d.install.Dir {
			return at
		}
	}
	return ""
}

// give returns the edits of the installation, after the check of its version.
func (d *macaDecision) give() (edits.Edits, error) {
	for _, line := range d.install.Warnings {
		d.warn("%s", line)
	}
	if err := d.checkVersion(d.install.Version); err != nil {
		return edits.Edits{}, err
	}
	return d.best()
}

// choose finds the installation that is requested.
func (d *macaDecision) choose() (err error) {
	list := maca.List(d.Host, "")
	if d.install, err = list.Choose(d.Command.Options.MACA.Version); err != nil {
		return fmt.Errorf("%s: %w (metax-ctk maca list)", d.option(), err)
	}
	if d.install.Doubt != "" {
		return fmt.Errorf("%s: this host's MXMACA cannot be given: %s", d.option(), d.install.Doubt)
	}
	if _, err := list.Choose(d.Command.Image); err == nil && len(d.Command.Rest) > 0 && d.Command.Options.MACA.Given {
		return fmt.Errorf("the image is %q, which is a version of MXMACA: write them as one word, --maca=%s", d.Command.Image,
			d.Command.Image)
	}
	return nil
}

func spaced(version string) string {
	if version == "" {
		return ""
	}
	return " " + version
}

// checkImage compares the image's own MXMACA with the driver, if that is requested. Only a
// strict check stops the command.
func (d *macaDecision) checkImage() error {
	if d.Check == "" || d.Check == dockerargs.MACACheckOff {
		return nil
	}
	facts, err := d.Image()
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil && d.Check == dockerargs.MACACheckStrict:
		return fmt.Errorf("MXMACA cannot be checked (%s starts it without): %w",
			d.word("--maca-check=off", "METAX_CTK_MACA_CHECK=off"), err)
	case err != nil:
		d.warn("MXMACA is not checked: %v", err)
		return nil
	case facts.MACA == nil:
		return nil
	}
	return d.checkVersion(facts.MACA.Version)
}

// checkVersion compares the MXMACA that the container will run on with the driver.
func (d *macaDecision) checkVersion(version string) error {
	if d.Check == dockerargs.MACACheckOff {
		return nil
	}
	driver := ""
	if d.Driver != nil {
		driver = d.Driver.Version
	}
	verdict := compat.Check(d.Rules, version, driver)
	switch {
	case verdict.State == compat.Mismatch && d.Check == dockerargs.MACACheckStrict:
		return fmt.Errorf("%s. To start it anyway: %s", verdict.Reason,
			d.word("--maca-check=warn", "METAX_CTK_MACA_CHECK=warn"))
	case verdict.State == compat.Mismatch:
		d.warn("%s", verdict.Reason)
	case verdict.State == compat.Unknown && d.Check != "":
		// A check that is requested and cannot be made must not succeed silently.
		d.warn("not checked: %s", verdict.Reason)
	}
	return nil
}

// best returns the edits in the requested way, or the best that there is. Only a mount can
// cover what the image has at the place, or a volume that it wants there; and a variable of
// the user's does not win over one of a spec.
func (d *macaDecision) best() (edits.Edits, error) {
	env, err := newEnviron(d.image.Env, d.Command.Flags, d.EnvFile, d.Getenv)
	if err != nil {
		return edits.Edits{}, err
	}
	e := edits.Edits{Names: []string{request.SoftwareKind + "=" +
		cmp.Or(d.Command.Options.MACA.Version, cdi.SoftwareDevice)}}
	covers := d.image.MACA != nil || d.image.Empty || slices.Contains(d.image.Volumes, maca.Path)
	if covers || d.Inject == dockerargs.InjectFlags ||
		slices.ContainsFunc(edits.MACAVariables, func(name string) bool { return env.given[name] }) {
		return d.byValue(env)
	}
	byName, doubt, err := d.Daemon().ByName(e.Names, filepath.Join(d.Root, d.install.Dir), d.Inject)
	if doubt != nil {
		d.warn("%v; giving MXMACA by volumes and variables (metax-ctk cdi check)", doubt)
	}
	switch {
	case err != nil:
		return edits.Edits{}, &UnlistedError{Names: e.Names, Dir: d.install.Dir}
	case byName:
		return e, nil
	}
	return d.byValue(env)
}

// byValue returns mounts and variables. The image's own directories come first in the
// searches, unless the image has MXMACA, which the host's is to replace. The driver's user
// part is left out where a GPU or the user mounts it.
func (d *macaDecision) byValue(env environ) (edits.Edits, error) {
	software, err := d.install.Software(d.Host)
	if err != nil {
		return edits.Edits{}, fmt.Errorf("%s: %w", d.option(), err)
	}
	e, err := edits.MACA(software, "")
	if err != nil {
		return edits.Edits{}, fmt.Errorf("%s: %w", d.option(), err)
	}
	e = e.Below(d.Root).ByValue()
	if d.Command.TakesGPU || slices.Contains(d.Command.Flags.MountPoints(), software.Driver) {
		e.Mounts = slices.DeleteFunc(e.Mounts, func(m edits.Mount) bool { return m.Path == software.Driver })
	}
	e.Env = slices.DeleteFunc(e.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return env.given[name]
	})
	first := d.image.MACA != nil
	e.Env = append(e.Env, env.withDirs("PATH", e.Programs, first))
	if len(e.Libraries) > 0 {
		e.Env = append(e.Env, env.withDirs("LD_LIBRARY_PATH", e.Libraries, first))
	}
	return e, nil
}
