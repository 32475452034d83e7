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

// Number is a device number.
type Number struct{ Major, Minor uint32 }

// Devices maps the device nodes, numbers and CDI names of a node to its GPUs. Device nodes
// that all GPUs share belong to none. Those of a slice, and its names, belong to the GPU
// that it is a part of.
//
// A simulated node has the device numbers and names of real GPUs, which other containers
// of this machine may have. For it a number counts only beside a path from below the
// node's root, and a name unless the devices are Nameless.
type Devices struct {
	gpus     []gpu.GPU
	root     string
	nameless bool               // names mean other GPUs
	byPath   map[string]gpu.BDF // on this machine
	nodes    map[string]bool    // the last names of these paths
	numbers  map[Number]gpu.BDF
	slices   sliceDevices
}

// NewDevices returns the devices of the node whose files are below root.
func NewDevices(node gpu.Node, root *hostfs.Root) Devices {
	d := Devices{
		gpus: node.GPUs, root: root.Dir(),
		byPath: map[string]gpu.BDF{}, nodes: map[string]bool{}, numbers: map[Number]gpu.BDF{},
	}
	d.slices = newSliceDevices(node, root)
	for _, g := range node.GPUs {
		paths := slices.Clone(g.Nodes)
		for _, s := range g.Slices {
			paths = append(paths, s.Nodes...)
		}
		for _, path := range paths {
			d.byPath[root.Join(path)] = g.BDF
			d.nodes[filepath.Base(path)] = true
			if device, err := root.Device(path); err == nil {
				d.numbers[Number{device.Major, device.Minor}] = g.BDF
			}
		}
	}
	return d
}

// Nameless returns the devices without their names: on this machine metax-tech.com/gpu=0
// is a GPU of another node.
func (d Devices) Nameless() Devices {
	d.nameless = true
	return d
}

// belowRoot reports whether a path of this machine is below the root of the node.
func (d Devices) belowRoot(path string) bool {
	return d.Real() || strings.HasPrefix(filepath.Clean(path), d.root+"/")
}

// Real reports whether the node is this machine, so that a device number means one of its GPUs
// wherever it appears.
func (d Devices) Real() bool { return d.root == "/" }

// CDI returns the GPUs of a qualified CDI device name, none for another kind or a name that
// the node does not have. A name in the CDI spec takes precedence over an equal serial
// number.
func (d Devices) CDI(name string) []gpu.BDF {
	if id, ok := strings.CutPrefix(name, request.SliceKind+"="); ok {
		return d.bySliceName(id)
	}
	id, ok := strings.CutPrefix(name, request.CDIKind+"=")
	if !ok || d.nameless {
		return nil
	}
	if found := d.byName(id); found != nil {
		return found
	}
	req, err := request.Parse("[" + id + "]")
	if err != nil {
		return nil
	}
	selection, err := req.Resolve(d.gpus)
	if err != nil {
		return nil
	}
	return d.bdfsWhere(func(g gpu.GPU) bool { return slices.Contains(selection.Explicit, g.Index) })
}

// PluginDevice returns the GPU that has the kubelet's device with this ID.
func (d Devices) PluginDevice(id string) []gpu.BDF {
	if d.nameless {
		return nil
	}
	return d.bdfsWhere(func(g gpu.GPU) bool { return g.UUID.HasDevice(id) })
}

// Path returns the GPUs whose nodes are at a path of this machine, or below it.
func (d Devices) Path(path string) []gpu.BDF {
	path = filepath.Clean(path)
	below := strings.TrimSuffix(path, "/") + "/"
	var found []gpu.BDF
	for at, bdf := range d.byPath {
		if at == path || strings.HasPrefix(at, below) {
			found = append(found, bdf)
		}
	}
	return usage.Sorted(found)
}

// IsNodeName reports whether a GPU has a node of this name, such as "card1", in any directory.
func (d Devices) IsNodeName(name []byte) bool { return d.nodes[string(name)] }

// Number returns the GPU with a device number.
func (d Devices) Number(n Number) (gpu.BDF, bool) {
	bdf, ok := d.numbers[n]
	return bdf, ok
}

// Indices returns the GPUs with these indices; one that the node does not have is left out.
func (d Devices) Indices(indices ...int) []gpu.BDF {
	return d.bdfsWhere(func(g gpu.GPU) bool { return slices.Contains(indices, g.Index) })
}

// All returns the GPUs of the node, ascending.
func (d Devices) All() []gpu.BDF {
	return usage.Sorted(d.bdfsWhere(func(gpu.GPU) bool { return true }))
}

func (d Devices) bdfsWhere(want func(gpu.GPU) bool) []gpu.BDF {
	var out []gpu.BDF
	for _, g := range d.gpus {
		if want(g) {
			out = append(out, g.BDF)
		}
	}
	return out
}
