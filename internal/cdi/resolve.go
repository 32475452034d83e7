// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	libcdi "tags.cncf.io/container-device-interface/pkg/cdi"
	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
)

// Resolve returns the edits of the devices with the qualified names, in their order, and
// before the first device of a spec the edits of the spec as a whole. The spec directories
// dirs of the host are in ascending priority. Variables that tell which GPUs these are
// (edits.GPUVariables) are added, which a device alone cannot set. Each file is read once, and
// parsed only if it concerns one of the names: programs that run for a millisecond call this.
//
// If a name is not found, the error is an *UnresolvedError; a file that cannot be read
// matters only then. A file that others may write or replace is not parsed: if it concerns
// a name, and no directory of a higher priority has that name, the error is
// hostfs.ErrUntrusted.
func Resolve(host *hostfs.Root, dirs, names []string) (*specs.ContainerEdits, error) {
	result := search(host, dirs, names)
	devices := map[string]Device{}
	for _, d := range resolveNames(result.files) {
		devices[d.Name] = d
	}
	missing := &UnresolvedError{Dirs: dirs, Faults: result.faults, Conflicts: map[string][]string{}}
	all := &libcdi.ContainerEdits{ContainerEdits: &specs.ContainerEdits{}}
	var seen []string
	for _, name := range names {
		d := devices[name]
		at := slices.IndexFunc(result.files, func(f File) bool { return f.Path == d.File })
		if result.distrust != nil && (at < 0 || result.files[at].Priority <= result.untrusted.Priority) {
			return nil, fmt.Errorf("read CDI spec %s: %w: chown root:root and chmod go-w that path (metax-ctk cdi check)",
				result.untrusted.Path, result.distrust)
		}
		if at < 0 {
			missing.Names = append(missing.Names, name)
			if d.Conflict != nil {
				missing.Conflicts[name] = d.Conflict
			}
			continue
		}
		spec := result.files[at].spec
		if !slices.Contains(seen, d.File) {
			seen = append(seen, d.File)
			all.Append(&libcdi.ContainerEdits{ContainerEdits: &spec.ContainerEdits})
		}
		own := slices.IndexFunc(spec.Devices, func(d specs.Device) bool { return Qualified(spec.Kind, d.Name) == name })
		all.Append(&libcdi.ContainerEdits{ContainerEdits: &spec.Devices[own].ContainerEdits})
	}
	if missing.Names != nil {
		return nil, missing
	}
	for _, f := range result.files {
		if f.spec.Kind == gpuKind && slices.Contains(seen, f.Path) {
			all.Env = tell(all.Env, f.spec, all.DeviceNodes)
		}
	}
	return all.ContainerEdits, nil
}

// Sources returns the paths of the specs from which Resolve takes the devices with the
// qualified names, in their order, each once. It reads the files again: it is for a log.
func Sources(host *hostfs.Root, dirs, names []string) []string {
	var paths []string
	devices := resolveNames(search(host, dirs, names).files)
	for _, name := range names {
		at := slices.IndexFunc(devices, func(d Device) bool { return d.Name == name })
		if at >= 0 && devices[at].File != "" && !slices.Contains(paths, devices[at].File) {
			paths = append(paths, devices[at].File)
		}
	}
	return paths
}

// gpuKind is the kind of whole GPUs.
var gpuKind = Kind(DefaultVendor, DefaultClass)

// tell returns variables with those that tell a container which GPUs it has
// (edits.Variables): those of a spec whose device nodes are all given. A GPU is a device by
// its index and another by its UUID, with the same nodes.
func tell(env []string, spec *specs.Spec, given []*specs.DeviceNode) []string {
	has := map[string]bool{}
	for _, n := range given {
		has[n.Path] = true
	}
	var uuids, indices []string
	for _, d := range spec.Devices {
		nodes := d.ContainerEdits.DeviceNodes
		if len(nodes) == 0 || slices.ContainsFunc(nodes, func(n *specs.DeviceNode) bool { return !has[n.Path] }) {
			continue
		}
		switch kindOfName(d.Name) {
		case ByIndex:
			indices = append(indices, d.Name)
		case ByUUID:
			uuids = append(uuids, d.Name)
		default: // addresses and "all" are in no variable
		}
	}
	for _, v := range edits.Variables(uuids, indices) {
		name, _, _ := strings.Cut(v, "=")
		env = append(slices.DeleteFunc(env, func(o string) bool { return strings.HasPrefix(o, name+"=") }), v)
	}
	return env
}

// searchResult is what the spec directories have for some names.
type searchResult struct {
	files     []File // in ascending priority
	faults    []File // those that cannot be read
	untrusted File   // the last that others may write
	distrust  error  // why; nil if there is no such file
}

func search(host *hostfs.Root, dirs, names []string) searchResult {
	var result searchResult
	for priority, dir := range dirs {
		above := host.Distrust(dir)
		for f, read := range specFiles(host, dir, priority) {
			if f.Error == "" {
				if !concerns(read.Data, names) {
					continue
				}
				if distrust := cmp.Or(above, read.Distrust); distrust != nil {
					result.untrusted, result.distrust = f, distrust
					continue
				}
				f.parseContent(read.Data)
			}
			if f.Error != "" {
				result.faults = append(result.faults, f)
			} else {
				result.files = append(result.files, f)
			}
		}
	}
	return result
}

// concerns reports whether a file could be a spec of the kind of one of the names. To
// be one it must have the kind in it, letter by letter, as a kind has no character at
// which YAML could break or fold a line, and an alias repeats what stands elsewhere in
// the file; unless it is written in a way that hides letters: escapes, YAML's tags
// (!!binary), UTF-16.
func concerns(data []byte, names []string) bool {
	for _, name := range names {
		if kind, _, _ := strings.Cut(name, "="); bytes.Contains(data, []byte(kind)) {
			return true
		}
	}
	return bytes.ContainsAny(data, "\\!") || bytes.HasPrefix(data, []byte("\xfe\xff")) ||
		bytes.HasPrefix(data, []byte("\xff\xfe"))
}
