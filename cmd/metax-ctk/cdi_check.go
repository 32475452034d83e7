package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
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
	args := c.Args().Slice()
	host, opt, err := t.cdiOptions(c)
	if err != nil {
		return err
	}
	found := checked{Files: []string{}, Problems: []cdi.Problem{}, Drift: []cdi.Difference{}}
	files, err := given(args)
	if err != nil {
		return err
	}
	want := t.wants(c, host)
	if len(args) == 0 {
		files = append(files, found.listed(c, host, opt.Vendor, func() bool {
			_, err := want.spec(opt)
			return errors.Is(err, cdi.ErrDivided)
		})...)
	}
	checkable := host
	if !t.where(c).IsHost() {
		checkable = nil // the files of another node are not here
	}
	for _, file := range files {
		found.Files = append(found.Files, file.String())
		if len(args) > 0 {
			found.add(cdi.Danger(file.host, file.path))
		}
		have, err := cdi.Load(file.host, file.path)
		if errors.Is(err, cdi.ErrSpec) {
			found.Problems = append(found.Problems, cdi.Problem{Code: cdi.CodeFile, Subject: file.String(), Message: err.Error()})
			continue
		} else if err != nil {
			return err
		}
		found.Problems = append(found.Problems, cdi.Check(have, checkable, opt.EngineRoot)...)
		drift, err := want.drift(have, opt)
		switch {
		case len(args) == 0 && (errors.Is(err, maca.ErrNone) || errors.Is(err, cdi.ErrNoSlices)):
			found.Problems = append(found.Problems, cdi.Problem{
				Code: cdi.CodeFile, Subject: file.String(),
				Message: err.Error() + "; metax-ctk cdi generate removes the spec",
			})
		case err != nil:
			return err
		}
		found.Drift = append(found.Drift, drift...)
	}
	found.OK = len(found.Problems) == 0 && len(found.Drift) == 0
	if found.OK {
		return t.print(c, found, strings.Join(found.Files, ", ")+": up to date\n")
	}
	return cmp.Or[error](t.print(c, found, lines(found.Problems)+lines(found.Drift)), errProblems)
}

// add adds problems that are not there yet: a directory's, or those of a file whose
// kind cannot be told, are found with every kind.
func (found *checked) add(problems []cdi.Problem) {
	for _, p := range problems {
		if !slices.ContainsFunc(found.Problems, func(o cdi.Problem) bool { return o.String() == p.String() }) {
			found.Problems = append(found.Problems, p)
		}
	}
}

// listed returns the spec files of the kinds that are to be checked. One of whole
// GPUs has to be there, unless all are divided, or one of the class that is named.
func (found *checked) listed(c *cli.Context, host *hostfs.Root, vendor string, divided func() bool) []specFile {
	classes := []string{cdi.DefaultClass, cdi.SliceClass, cdi.SoftwareClass}
	if c.IsSet("class") {
		classes = []string{c.String("class")}
	}
	// What ends an engine does so whatever it is of.
	for _, p := range cdi.List(host, specDirs(c), "").Problems() {
		if p.Code == cdi.CodeName {
			found.add([]cdi.Problem{p})
		}
	}
	var files []specFile
	for _, class := range classes {
		kind := cdi.Kind(vendor, class)
		listing := cdi.List(host, specDirs(c), kind)
		found.add(listing.Problems())
		for _, f := range listing.Files {
			if f.Kind == kind {
				files = append(files, specFile{host, f.Path})
			}
		}
		if len(files) == 0 && class == classes[0] && (c.IsSet("class") || !divided()) {
			found.Problems = append(found.Problems, cdi.Problem{
				Code: cdi.CodeFile, Subject: kind,
				Message: "no spec of this kind in " + strings.Join(specDirs(c), ", ") + "; write one: metax-ctk cdi generate",
			})
		}
	}
	return files
}

func (t toolkit) cdiDiff(c *cli.Context) error {
	args := c.Args().Slice()
	host, opt, err := t.cdiOptions(c)
	if err != nil {
		return err
	}
	files, err := given(args)
	if err != nil {
		return err
	}
	files = append(files, specFile{host, cdi.Path(opt.Vendor, opt.Class, cdi.JSON)})
	have, err := cdi.Load(files[0].host, files[0].path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; write one: metax-ctk cdi generate", err)
	} else if err != nil {
		return err
	}
	drift, err := t.wants(c, host).drift(have, opt)
	if err != nil {
		return err
	}
	if len(drift) == 0 {
		return t.print(c, drift, "")
	}
	return cmp.Or[error](t.print(c, drift, lines(drift)), errProblems)
}

// drift compares a spec with the one that the node would get. Unless it is said
// how devices are named, they are named as the spec at hand does.
func (w wants) drift(have *specs.Spec, opt cdi.Options) ([]cdi.Difference, error) {
	if !w.c.IsSet("device-name-strategy") {
		opt.Names = cdi.NamesOf(have)
	}
	for _, class := range []string{cdi.SliceClass, cdi.SoftwareClass} {
		if !w.c.IsSet("class") && have.Kind == cdi.Kind(opt.Vendor, class) {
			opt.Class = class
		}
	}
	opt.Partial = true
	wanted, err := w.spec(opt)
	if err != nil {
		return nil, err
	}
	return append([]cdi.Difference{}, cdi.Diff(have, wanted)...), nil
}

// specFile is a spec file of a host.
type specFile struct {
	host *hostfs.Root
	path string
}

func (f specFile) String() string { return f.host.Join(f.path) }

// given are the files that the command line names: paths on this machine,
// whatever the node's root is.
func given(args []string) ([]specFile, error) {
	here, err := hostfs.New("/")
	if err != nil {
		return nil, err
	}
	var files []specFile
	for _, arg := range args {
		path, err := filepath.Abs(arg)
		if err != nil {
			return nil, fmt.Errorf("resolve %q: %w", arg, err)
		}
		files = append(files, specFile{here, path})
	}
	return files, nil
}
