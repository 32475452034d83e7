// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"errors"
	"slices"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// SliceClass is the class of the kind of slices, "metax-tech.com/sgpu".
const SliceClass = "sgpu"

// ErrNoSlices reports a node without a slice that has a name and device nodes.
var ErrNoSlices = errors.New("no slice of a GPU with a name and device nodes")

// GenerateSlices makes the spec of the slices of a node's divided GPUs: a device for each
// sGPU, named by its UUID, and for each virtual function, named by its address and, where
// it is known, by its UUID. A device has the slice's own edits, and the spec as a whole
// edits.Common. A slice without a name or without device nodes, such as a virtual function
// for a virtual machine, gets no device. There is no device "all", and opt.Names is not
// used: slices have no lasting index.
//
// It fails with ErrNoSlices, *IncompleteError (unless opt.Partial) where the nodes of a
// GPU in slice mode are missing, gpu.ErrNode or ErrSpec.
func GenerateSlices(node gpu.Node, opt Options) (spec *specs.Spec, err error) {
	defer wrapError(&err, "generate CDI spec of slices")
	if err := node.Check(); err != nil {
		return nil, err
	}
	var devices []device
	var missing []gpu.GPU
	total := 0
	for _, g := range byIndex(node.GPUs) {
		if len(g.Slices) > 0 {
			total++
		}
		if slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceSGPU && len(s.Nodes) == 0 }) {
			missing = append(missing, g)
		}
		for _, s := range g.Slices {
			for _, name := range sliceNames(s) {
				devices = append(devices, device{name, edits.Slice(s)})
			}
		}
	}
	switch {
	case len(missing) > 0 && !opt.Partial:
		return nil, &IncompleteError{GPUs: missing, Total: total}
	case len(devices) == 0:
		return nil, ErrNoSlices
	}
	return opt.buildSpec(SliceClass, edits.Common(node), devices)
}

// sliceNames are the names of the devices of a slice; none without device nodes.
func sliceNames(s gpu.Slice) (names []string) {
	if len(s.Nodes) == 0 {
		return nil
	}
	if s.UUID != "" {
		names = append(names, s.UUID)
	}
	if (s.BDF != gpu.BDF{}) {
		names = append(names, s.BDF.String())
	}
	return names
}
