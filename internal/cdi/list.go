// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Listing is what engines find in their spec directories.
type Listing struct {
	// Files are the spec files of the kind, and those of unknown kind, in ascending
	// priority.
	Files []File `json:"files"`
	// Devices are the devices of the kind, those of the files that win first, in the order of
	// the file.
	Devices []Device `json:"devices"`

	untrusted []Problem // directories that others may write to
}

// File is a file in a spec directory, or a directory that cannot be read.
type File struct {
	Path string `json:"path"`
	// Priority is the position of the file's directory; the highest wins.
	Priority int    `json:"priority"`
	Kind     string `json:"kind,omitempty"`
	// Mode are the permission bits, in octal.
	Mode string `json:"mode,omitempty"`
	// Error says why engines cannot use the file; empty if they can.
	Error string `json:"error,omitempty"`

	perm      fs.FileMode
	spec      *specs.Spec // nil if there is an Error
	untrusted *Problem    // nil if nobody but root may change the file
}

// IsForeign reports whether the file is a usable spec that another program wrote.
func (f File) IsForeign() bool { return f.spec != nil && !IsOwn(f.spec) }

// Device is a name that a request to an engine may contain.
type Device struct {
	// Name is qualified: "metax-tech.com/gpu=0".
	Name string `json:"name"`
	// File is the one that defines the device; empty where there is a Conflict.
	File string `json:"file,omitempty"`
	// Shadowed are files whose definitions File overrides.
	Shadowed []string `json:"shadowed,omitempty"`
	// Conflict are all the files that define the name where two of them have the same
	// priority: then no engine resolves it.
	Conflict []string `json:"conflict,omitempty"`
}

// List reads all specs in the directories dirs of the host, in ascending priority, and
// resolves the devices of a kind (empty: of every kind) by the rules of the CDI library. A
// directory that does not exist counts as empty.
func List(host *hostfs.Root, dirs []string, kind string) Listing {
	l := Listing{Files: []File{}, Devices: []Device{}}
	for priority, dir := range dirs {
		if u := untrustedProblem(host, host.Distrust(dir)); u != nil {
			l.untrusted = append(l.untrusted, *u)
		}
		for f, read := range specFiles(host, dir, priority) {
			if f.Error == "" {
				f.untrusted = untrustedProblem(host, read.Distrust)
				f.parseContent(read.Data)
			}
			if kind == "" || f.Kind == "" || f.Kind == kind {
				l.Files = append(l.Files, f)
			}
		}
	}
	l.Devices = append(l.Devices, resolveNames(l.Files)...)
	return l
}

// specFiles yields the files in a directory that engines read as specs, by name, with
// what is in them; a directory that cannot be read is one File with an Error.
func specFiles(host *hostfs.Root, dir string, priority int) iter.Seq2[File, hostfs.FileWithTrust] {
	return func(yield func(File, hostfs.FileWithTrust) bool) {
		names, err := host.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(File{Path: dir, Priority: priority, Error: err.Error()}, hostfs.FileWithTrust{})
			return
		}
		for _, name := range names {
			if _, ok := FormatOf(name); !ok {
				continue
			}
			if f, read, ok := readSpec(host, path.Join(dir, name), priority); ok && !yield(f, read) {
				return
			}
		}
	}
}

// readSpec reads a file, which may be anything; ok is false for a directory.
func readSpec(host *hostfs.Root, name string, priority int) (f File, read hostfs.FileWithTrust, ok bool) {
	f = File{Path: name, Priority: priority}
	info, err := host.Stat(name)
	if err == nil && info.Mode.IsDir() {
		return f, read, false
	}
	if err == nil {
		f.perm = info.Mode.Perm()
		f.Mode = fmt.Sprintf("%04o", f.perm)
		read, err = host.ReadWithTrust(name, MaxSpec)
	}
	if err != nil {
		f.Error = err.Error()
	}
	return f, read, true
}

// parseContent notes what engines see in the file, without the strictness of Load. It finds
// the kind of an invalid spec, if it can.
func (f *File) parseContent(data []byte) {
	spec, err := decodeSpec(data)
	if err != nil {
		f.Kind, f.Error = kindOf(data), err.Error()
		return
	}
	f.Kind, f.spec = spec.Kind, spec
}

// resolveNames finds the definition of every name: the one of highest priority, unless
// any two have the same. Names are sorted by kind, and then stand in the order of their
// files.
func resolveNames(files []File) []Device {
	defined := map[string][]File{} // in ascending priority, as files are
	type name struct{ kind, qualified string }
	var names []name
	for _, f := range slices.Backward(files) {
		if f.spec == nil {
			continue
		}
		for _, d := range f.spec.Devices {
			n := name{f.Kind, Qualified(f.Kind, d.Name)}
			if defined[n.qualified] == nil {
				names = append(names, n)
			}
			defined[n.qualified] = slices.Insert(defined[n.qualified], 0, f)
		}
	}
	slices.SortStableFunc(names, func(a, b name) int { return strings.Compare(a.kind, b.kind) })
	devices := make([]Device, len(names))
	for i, n := range names {
		devices[i] = resolveName(n.qualified, defined[n.qualified])
	}
	return devices
}

// resolveName is the device of a name that files define.
func resolveName(name string, files []File) Device {
	var paths []string
	conflict := false
	for i, f := range files {
		paths = append(paths, f.Path)
		conflict = conflict || (i > 0 && f.Priority == files[i-1].Priority)
	}
	if conflict {
		return Device{Name: name, Conflict: paths}
	}
	last := len(paths) - 1
	return Device{Name: name, File: paths[last], Shadowed: paths[:last]}
}

// Problems returns what prevents engines from using the files, or makes them use another
// file than was meant.
func (l Listing) Problems() []Problem {
	var found problems
	for _, u := range l.untrusted {
		found.add(u.Code, "", u.Subject, "%s", u.Message)
	}
	for _, f := range l.Files {
		if f.Error != "" {
			found.add(CodeFile, "", f.Path, "%s", f.Error)
		}
		if f.Mode != "" && f.perm&0o004 == 0 {
			found.add(CodePermission, "", f.Path, "mode %s; engines that do not run as root cannot read it", f.Mode)
		}
		f.addDangers(&found)
	}
	for _, d := range l.Devices {
		if len(d.Conflict) > 0 {
			found.add(CodeConflict, d.Name, strings.Join(d.Conflict, ", "),
				"define the same device, so that no engine resolves it")
		}
		if len(d.Shadowed) > 0 {
			found.add(CodeShadowed, d.Name, strings.Join(d.Shadowed, ", "), "overridden by %s", d.File)
		}
	}
	return found
}
