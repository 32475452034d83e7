// SPDX-License-Identifier: Apache-2.0

package refresh

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/cdi"
	"github.com/metax-ctk/container-toolkit/internal/discover/maca"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// Comparison holds specs against the ones that the node should have.
type Comparison struct {
	Maker
	Options cdi.Options
	// ByClass and ByNames report that the class and the names of devices in Options are
	// requested. Otherwise a spec has the class of its kind and the names in it.
	ByClass, ByNames bool
	// Dirs are where engines look for specs.
	Dirs []string
	// Files are the specs, by their paths on this machine; empty means those that
	// engines find.
	Files []string
	// Trimmed is true for the host of a snapshot: it has only the files that discovery
	// needs, so files that specs name are not looked for, and specs of MXMACA are not
	// compared.
	Trimmed bool
}

// Checked is what Check found.
type Checked struct {
	OK    bool     `json:"ok"`
	Files []string `json:"files"`
	// Problems are what is wrong for every node.
	Problems []cdi.Problem `json:"problems"`
	// Drift is what cdi generate would change.
	Drift []cdi.Difference `json:"drift"`
}

// Check returns what is wrong with the specs.
func (c Comparison) Check() (Checked, error) {
	found := Checked{Files: []string{}, Problems: []cdi.Problem{}, Drift: []cdi.Difference{}}
	files, err := given(c.Files)
	if err != nil {
		return found, err
	}
	if len(c.Files) == 0 {
		files = c.listed(&found)
	}
	checkable := c.Host
	if c.Trimmed || !c.Selector.IsHost() {
		checkable = nil // the files of another node are not here
	}
	for _, file := range files {
		found.Files = append(found.Files, file.String())
		if len(c.Files) > 0 {
			found.add(cdi.Danger(file.host, file.path))
		}
		have, err := cdi.Load(file.host, file.path)
		if errors.Is(err, cdi.ErrSpec) {
			message := err.Error()
			if len(c.Files) == 0 {
				message += "; to write it again: metax-ctk cdi generate"
			}
			found.Problems = append(found.Problems,
				cdi.Problem{Code: cdi.CodeFile, Subject: file.String(), Message: message})
			continue
		} else if err != nil {
			return found, err
		}
		found.Problems = append(found.Problems, cdi.Check(have, checkable, c.Options.EngineRoot)...)
		drift, err := c.drift(have)
		switch {
		case len(c.Files) == 0 && (errors.Is(err, maca.ErrNone) || errors.Is(err, cdi.ErrNoSlices)):
			found.Problems = append(found.Problems, cdi.Problem{
				Code: cdi.CodeFile, Subject: file.String(),
				Message: err.Error() + "; metax-ctk cdi generate removes the spec",
			})
		case err != nil:
			return found, err
		}
		found.Drift = append(found.Drift, drift...)
	}
	found.OK = len(found.Problems) == 0 && len(found.Drift) == 0
	return found, nil
}

// Diff compares the first of the files, or else the spec that cdi generate writes.
func (c Comparison) Diff() ([]cdi.Difference, error) {
	files, err := given(c.Files)
	if err != nil {
		return nil, err
	}
	files = append(files, specFile{c.Host, cdi.Path(c.Options.Vendor, c.Options.Class, cdi.JSON), c.Trimmed})
	have, err := cdi.Load(files[0].host, files[0].path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && c.Trimmed:
		return nil, fmt.Errorf("the snapshot has no CDI spec %s", files[0])
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; write one: metax-ctk cdi generate", err)
	case err != nil:
		return nil, err
	}
	return c.drift(have)
}

// drift compares a spec with the one that the node should have.
func (c Comparison) drift(have *specs.Spec) ([]cdi.Difference, error) {
	opt := c.Options
	if !c.ByNames {
		opt.Names = cdi.NamesOf(have)
	}
	for _, class := range []string{cdi.SliceClass, cdi.SoftwareClass} {
		if !c.ByClass && have.Kind == cdi.Kind(opt.Vendor, class) {
			opt.Class = class
		}
	}
	if c.Trimmed && opt.Class == cdi.SoftwareClass {
		return []cdi.Difference{}, nil
	}
	opt.Partial = true
	wanted, err := c.Spec(opt)
	if err != nil {
		return nil, err
	}
	if c.Trimmed { // a snapshot does not have the programs
		have, wanted = cdi.WithoutHooks(have), cdi.WithoutHooks(wanted)
	}
	return append([]cdi.Difference{}, cdi.Diff(have, wanted)...), nil
}

// listed returns the spec files of the kinds to check. One of whole GPUs, or of the
// requested class, has to be there, unless all GPUs are divided.
func (c Comparison) listed(found *Checked) []specFile {
	classes := []string{cdi.DefaultClass, cdi.SliceClass, cdi.SoftwareClass}
	if c.ByClass {
		classes = []string{c.Options.Class}
	}
	// A spec of any kind can keep an engine from starting.
	for _, p := range cdi.List(c.Host, c.Dirs, "").Problems() {
		if p.Code == cdi.CodeName {
			found.add([]cdi.Problem{p})
		}
	}
	var files []specFile
	for _, class := range classes {
		kind := cdi.Kind(c.Options.Vendor, class)
		listing := cdi.List(c.Host, c.Dirs, kind)
		found.add(listing.Problems())
		foreign := ""
		for _, f := range listing.Files {
			switch {
			case f.Kind != kind: // of another class
			case f.IsForeign():
				foreign = f.Path
			default:
				files = append(files, specFile{c.Host, f.Path, c.Trimmed})
			}
		}
		if len(files) == 0 && foreign != "" {
			found.Problems = append(found.Problems,
				cdi.Problem{Code: cdi.CodeFile, Subject: foreign, Message: "another program's; not compared with this node"})
		} else if len(files) == 0 && class == classes[0] && (c.ByClass || !c.divided()) {
			found.Problems = append(found.Problems, cdi.Problem{
				Code: cdi.CodeFile, Subject: kind,
				Message: "no spec of this kind in " + strings.Join(c.Dirs, ", ") + "; write one: metax-ctk cdi generate",
			})
		}
	}
	return files
}

// divided reports whether all GPUs are, so that none has a spec as a whole.
func (c Comparison) divided() bool {
	_, err := c.Spec(c.Options)
	return errors.Is(err, cdi.ErrDivided)
}

// add adds problems that are not there yet: those of a directory, or of a file of
// unknown kind, are found with every kind.
func (found *Checked) add(problems []cdi.Problem) {
	for _, p := range problems {
		if !slices.ContainsFunc(found.Problems, func(o cdi.Problem) bool { return o.String() == p.String() }) {
			found.Problems = append(found.Problems, p)
		}
	}
}

// specFile is a spec file of a host.
type specFile struct {
	host    *hostfs.Root
	path    string
	trimmed bool
}

// String returns the path on this machine, or that on the host of a snapshot.
func (f specFile) String() string {
	if f.trimmed {
		return f.path
	}
	return f.host.Join(f.path)
}

// given are files by their paths on this machine, which the node's root does not change.
func given(paths []string) ([]specFile, error) {
	here, err := hostfs.New("/")
	if err != nil {
		return nil, err
	}
	var files []specFile
	for _, p := range paths {
		path, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("resolve %q: %w", p, err)
		}
		files = append(files, specFile{here, path, false})
	}
	return files, nil
}
