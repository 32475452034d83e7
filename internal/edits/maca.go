// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/request"
)

const (
	// LinkDir is the directory of a container for names of libraries that the host's
	// directories lack; those are read-only there.
	LinkDir = "/usr/lib/metax-container-toolkit"
	// ProgramDir is the directory of a container for names of programs. It is on the
	// PATH that engines and images have.
	ProgramDir = "/usr/bin"
	// MaxPrograms is how many programs of an installation get a name, the first ones of
	// Software.Programs. It bounds the hook's command line.
	MaxPrograms = 256
)

// MPS makes MXMACA let several processes onto a GPU.
const MPS = "MACA_MPS_MODE=1"

// smi is the driver's program that every user of a GPU expects.
const smi = "mx-smi"

// Software is what a container needs of an installation of MXMACA on the host. In a
// container Path is a link to Dir, whichever version the host's own link leads to: files
// of MXMACA are named below Path here.
type Software struct {
	Path      string        // where programs look for it, "/opt/maca"
	Dir       string        // where it is, "/opt/maca-3.3.0.15"; may be Path
	Version   string        // "3.3.0.15", as Version.txt says; empty if not known
	Default   bool          // whether Path leads to it on the host
	Driver    string        // the driver's user part, "/opt/mxdriver"; empty if there is none
	Libraries []string      // directories of shared libraries, in the order of the vendor's LD_LIBRARY_PATH
	Links     []LibraryLink // names that those lack
	Programs  []string      // "/opt/maca/bin/macainfo": by directory, in the order of the vendor's PATH
	Env       []string      // "MACA_PATH=/opt/maca", …: of MACAVariables
	Warnings  []string      // what could not be found out
}

// MACAVariables are the names of the variables that tell programs where MXMACA is, besides
// PATH and LD_LIBRARY_PATH, as the vendor's images set them.
var MACAVariables = []string{"MACA_PATH", "MACA_CLANG_PATH", "CUCC_PATH"}

// LibraryLink is a name by which programs look for a library, beside that of its file.
type LibraryLink struct {
	Name   string // "libmcruntime.so.3"
	Target string // "/opt/maca/lib/libmcruntime.so.3.3.0"
}

// MACA returns the edits of MXMACA: its directory and the driver's user part, read-only, under
// their own paths; the variables; the link Path; the directories for the dynamic linker; and
// names in ProgramDir for mx-smi and the programs, where the image has none. A PATH for
// them would replace the image's. Device is the name of the CDI device.
//
// It fails for the name of a library or program that is not the name of a file.
func MACA(s Software, device string) (Edits, error) {
	e := Edits{Names: []string{request.SoftwareKind + "=" + device}, Env: slices.Clone(s.Env)}
	e.Mounts = []Mount{readOnly(s.Dir)}
	if s.Driver != "" {
		e.Mounts = append(e.Mounts, readOnly(s.Driver))
		e.Programs = []string{path.Join(s.Driver, "bin")}
	}
	for _, file := range s.Programs {
		if dir := path.Dir(file); !slices.Contains(e.Programs, dir) {
			e.Programs = append(e.Programs, dir)
		}
	}
	if s.Path != s.Dir {
		e.Links = []Link{{Target: s.Dir, Path: s.Path}}
	}
	e.Libraries = slices.Clone(s.Libraries)
	for _, l := range s.Links {
		if !isFileName(l.Name) {
			return Edits{}, fmt.Errorf("%q is not the name of a file", l.Name)
		}
		e.Links = append(e.Links, Link{Target: l.Target, Path: path.Join(LinkDir, l.Name)})
	}
	if len(s.Links) > 0 {
		e.Libraries = append(e.Libraries, LinkDir)
	}
	for _, file := range s.Programs {
		if path.Clean(file) != file || !strings.HasPrefix(file, s.Path+"/") || !isFileName(path.Base(file)) {
			return Edits{}, fmt.Errorf("%q is not a file below %s", file, s.Path)
		}
	}
	for _, file := range s.programs() {
		e.Links = append(e.Links, programLink(file))
	}
	return e, nil
}

// MACAFallback is MACA for a container whose image may have an MXMACA of its own: anything at
// Path of the image stays, also a link.
func MACAFallback(s Software, device string) (Edits, error) {
	e, err := MACA(s, device)
	for i := range e.Links {
		if e.Links[i].Path == s.Path {
			e.Links[i].Optional = true
		}
	}
	return e, err
}

// programLink is the name of a program in ProgramDir.
func programLink(file string) Link {
	return Link{Target: file, Path: path.Join(ProgramDir, path.Base(file)), Optional: true}
}

// isFileName reports whether a name stays in its directory and in its word of the hook's
// command line.
func isFileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsRune(name, '/') && !strings.Contains(name, "::")
}

// programs returns the paths of the programs that get a name, each name once: the first of
// that name.
func (s Software) programs() []string {
	list := slices.Clone(s.Programs[:min(len(s.Programs), MaxPrograms)])
	if s.Driver != "" {
		list = slices.Insert(list, 0, path.Join(s.Driver, "bin", smi))
	}
	return uniqueByPath(list, path.Base)
}
