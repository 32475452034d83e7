package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// checked is what check found, as -o prints it.
type checked struct {
	OK    bool     `json:"ok"`
	Files []string `json:"files"`
	// Problems are what is wrong whatever the node looks like.
	Problems []cdi.Problem `json:"problems"`
	// Drift is what cdi generate would change.
	Drift []cdi.Difference `json:"drift"`
}

func (t toolkit) cdiCheck(c *cli.Context) error {
	args, err := arguments(c, 0, 1)
	if err != nil {
		return err
	}
	opt, err := t.cdiOptions(c)
	if err != nil {
		return err
	}
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	found := checked{Files: args, Problems: []cdi.Problem{}, Drift: []cdi.Difference{}}
	kind := opt.Vendor + "/" + opt.Class
	if len(args) == 0 {
		listing := cdi.List(host, specDirs(c), kind)
		found.Problems = append(found.Problems, listing.Problems()...)
		for _, f := range listing.Files {
			if f.Kind == kind {
				found.Files = append(found.Files, host.Join(f.Path))
			}
		}
		if len(found.Files) == 0 {
			found.Problems = append(found.Problems, cdi.Problem{
				Code: cdi.CodeFile, Subject: kind,
				Message: "no spec of this kind in " + strings.Join(specDirs(c), ", ") + "; write one: metax-ctk cdi generate",
			})
		}
	}
	checkable := host
	if !t.where(c).IsHost() {
		checkable = nil // the files of another node are not here
	}
	for _, file := range found.Files {
		have, err := loadSpec(file)
		if errors.Is(err, cdi.ErrSpec) {
			found.Problems = append(found.Problems, cdi.Problem{Code: cdi.CodeFile, Subject: file, Message: err.Error()})
			continue
		} else if err != nil {
			return err
		}
		found.Problems = append(found.Problems, cdi.Check(have, checkable, opt.EngineRoot)...)
		drift, err := t.drift(c, have, opt)
		if err != nil {
			return err
		}
		found.Drift = append(found.Drift, drift...)
	}
	found.OK = len(found.Problems) == 0 && len(found.Drift) == 0
	err = t.print(c, found, func(w io.Writer) error {
		if found.OK {
			_, err := fmt.Fprintf(w, "%s: true to the node\n", strings.Join(found.Files, ", "))
			return err
		}
		for _, p := range found.Problems {
			fmt.Fprintln(w, p)
		}
		return printDrift(w, found.Drift)
	})
	if err == nil && !found.OK {
		return errProblems
	}
	return err
}

func (t toolkit) cdiDiff(c *cli.Context) error {
	args, err := arguments(c, 0, 1)
	if err != nil {
		return err
	}
	opt, err := t.cdiOptions(c)
	if err != nil {
		return err
	}
	host, err := hostfs.New(c.String("root"))
	if err != nil {
		return err
	}
	file := host.Join(cdi.Path(opt.Vendor, opt.Class, cdi.JSON))
	if len(args) == 1 {
		file = args[0]
	}
	have, err := loadSpec(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; write one: metax-ctk cdi generate", err)
	} else if err != nil {
		return err
	}
	drift, err := t.drift(c, have, opt)
	if err != nil {
		return err
	}
	if err := t.print(c, drift, func(w io.Writer) error { return printDrift(w, drift) }); err != nil {
		return err
	}
	if len(drift) > 0 {
		return errProblems
	}
	return nil
}

// drift compares a spec with the one that the node would get. Unless it is said
// how devices are named, they are named as the spec at hand does.
func (t toolkit) drift(c *cli.Context, have *specs.Spec, opt cdi.Options) ([]cdi.Difference, error) {
	if !c.IsSet("device-name-strategy") {
		opt.Names = cdi.NamesOf(have)
	}
	opt.Partial = true
	_, want, err := t.wanted(c, opt)
	if err != nil {
		return nil, err
	}
	return append([]cdi.Difference{}, cdi.Diff(have, want)...), nil
}

func printDrift(w io.Writer, drift []cdi.Difference) error {
	for _, d := range drift {
		if _, err := fmt.Fprintln(w, d); err != nil {
			return err
		}
	}
	return nil
}

// loadSpec reads a spec file by its path on this machine.
func loadSpec(path string) (*specs.Spec, error) {
	here, err := hostfs.New("/")
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return cdi.Load(here, abs)
}
