// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/hostfs"
	"github.com/metax-ctk/container-toolkit/internal/request"
	"github.com/metax-ctk/container-toolkit/internal/usage"
)

// sliceDevices maps the devices that belong to a single slice, as those of a virtual
// function do, to the slice. Devices that slices share are not in it.
type sliceDevices struct {
	names   map[string]string // each of its names → Slice.Name
	paths   map[string]string // on this machine
	numbers map[Number]string
}

func newSliceDevices(node gpu.Node, root *hostfs.Root) sliceDevices {
	p := sliceDevices{names: map[string]string{}, paths: map[string]string{}, numbers: map[Number]string{}}
	for _, g := range node.GPUs {
		for _, s := range g.Slices {
			if s.Name() == "" {
				continue
			}
			p.names[s.Name()] = s.Name()
			if s.BDF != (gpu.BDF{}) {
				p.names[s.BDF.String()] = s.Name()
			}
			for _, path := range s.Nodes {
				if slices.Contains(g.Nodes, path) {
					continue
				}
				p.paths[root.Join(path)] = s.Name()
				if device, err := root.Device(path); err == nil {
					p.numbers[Number{device.Major, device.Minor}] = s.Name()
				}
			}
		}
	}
	return p
}

// Evidence is everything about a container that may say which slices it has.
type Evidence struct {
	CDI         []string          // qualified names, of any kind
	Paths       []string          // of devices on the host
	Numbers     []Number          // of device nodes inside
	Annotations map[string]string // as for Requested
	// Label is the value of SlicesLabel, which an image can also set: it counts only for
	// slices of GPUs.
	Label string
	GPUs  []gpu.BDF // of which the container has something
}

// Slices returns the names of the slices in the evidence, ascending.
func (d Devices) Slices(e Evidence) []string {
	var found []string
	add := func(name string, ok bool) {
		if ok {
			found = append(found, name)
		}
	}
	named := func(list string) {
		for name := range strings.SplitSeq(list, ",") {
			known, ok := d.slices.names[name]
			add(known, ok && !d.nameless)
		}
	}
	qualified := func(name string) {
		if id, ok := strings.CutPrefix(name, request.SliceKind+"="); ok {
			named(id)
		}
	}
	for _, name := range e.CDI {
		qualified(name)
	}
	for _, path := range e.Paths {
		name, ok := d.slices.paths[filepath.Clean(path)]
		add(name, ok)
	}
	for _, n := range e.Numbers {
		name, ok := d.slices.numbers[n]
		add(name, ok)
	}
	for key, value := range e.Annotations {
		switch {
		case key == request.SliceKind:
			named(value)
		case strings.HasPrefix(key, request.CDIAnnotations):
			for name := range strings.SplitSeq(value, ",") {
				qualified(name)
			}
		}
	}
	for name := range strings.SplitSeq(e.Label+","+e.Annotations[usage.SlicesLabel], ",") {
		known, ok := d.slices.names[name]
		add(known, ok && usage.Overlap(d.bySliceName(name), e.GPUs))
	}
	slices.Sort(found)
	return slices.Compact(found)
}
