package registry

import (
	"bytes"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"
)

// search is what has been found of the names so far.
type search struct {
	kinds     [][]byte
	found     map[string]definition // by name, for every name that is wanted
	conflicts map[string][]string   // the files, by name
	faults    []Fault
}

// definition is where a device comes from.
type definition struct {
	spec     *specs.Spec
	device   *specs.ContainerEdits // nil: not found yet
	file     string
	priority int
	distrust error // who else may write the file; nil: nobody
}

func newSearch(names []string) *search {
	s := &search{found: make(map[string]definition, len(names)), conflicts: map[string][]string{}}
	seen := map[string]bool{}
	for _, name := range names {
		s.found[name] = definition{}
		if kind, _, _ := strings.Cut(name, "="); !seen[kind] {
			seen[kind] = true
			s.kinds = append(s.kinds, []byte(kind))
		}
	}
	return s
}

// concerns tells whether a file could be a spec of one of the kinds. To be one it
// must have the kind in it, letter by letter, unless it is written in a way that
// hides letters: escapes, YAML's tags (!!binary), UTF-16.
func (s *search) concerns(data []byte) bool {
	for _, kind := range s.kinds {
		if bytes.Contains(data, kind) {
			return true
		}
	}
	return bytes.ContainsAny(data, "\\!") || bytes.HasPrefix(data, []byte("\xfe\xff")) || bytes.HasPrefix(data, []byte("\xff\xfe"))
}

// take notes the devices of a spec that are wanted; from has all but the device. The
// file of the highest priority has the last word; two of the same leave nobody any,
// whatever others say.
func (s *search) take(from definition) {
	for i := range from.spec.Devices {
		d := &from.spec.Devices[i]
		name := from.spec.Kind + "=" + d.Name
		old, wanted := s.found[name]
		if !wanted {
			continue
		}
		if old.device != nil && old.priority == from.priority {
			if s.conflicts[name] == nil {
				s.conflicts[name] = []string{old.file}
			}
			s.conflicts[name] = append(s.conflicts[name], from.file)
			continue
		}
		from.device = &d.ContainerEdits
		s.found[name] = from
	}
}

// edits joins what the names bring.
func (s *search) edits(names []string) *specs.ContainerEdits {
	all := &specs.ContainerEdits{}
	seen := map[*specs.Spec]bool{}
	for _, name := range names {
		d := s.found[name]
		if !seen[d.spec] {
			seen[d.spec] = true
			join(all, &d.spec.ContainerEdits)
		}
		join(all, d.device)
	}
	return all
}

func join(all, e *specs.ContainerEdits) {
	all.Env = append(all.Env, e.Env...)
	all.DeviceNodes = append(all.DeviceNodes, e.DeviceNodes...)
	all.NetDevices = append(all.NetDevices, e.NetDevices...)
	all.Hooks = append(all.Hooks, e.Hooks...)
	all.Mounts = append(all.Mounts, e.Mounts...)
	if e.IntelRdt != nil {
		all.IntelRdt = e.IntelRdt
	}
	all.AdditionalGIDs = append(all.AdditionalGIDs, e.AdditionalGIDs...)
}
