package cdi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// SliceClass is the class of the kind of slices, "metax-tech.com/sgpu".
const SliceClass = "sgpu"

// ErrNoSlices reports a node without a slice that could be given: none at all,
// or none with a name and device nodes.
var ErrNoSlices = errors.New("no slice of a GPU with a name and device nodes")

// GenerateSlices makes the spec of the slices of a node's divided GPUs: a device
// for each sGPU, named by its UUID, and for each virtual function, named by its
// address and by its UUID, where that is known. A slice brings its own device
// nodes; what comes with any GPU comes with any slice. A slice without a name
// gets no device, nor does a virtual function without device nodes, such as one
// that is for a virtual machine. There is no "all", and opt.Names does not
// matter: slices have no lasting index.
//
// It fails with ErrNoSlices, *IncompleteError (unless opt.Partial) where the
// nodes of a GPU in slice mode are missing, gpu.ErrNode or ErrSpec.
func GenerateSlices(node gpu.Node, opt Options) (*specs.Spec, error) {
	spec, err := generateSlices(node, opt)
	if err != nil {
		return nil, fmt.Errorf("generate CDI spec of slices: %w", err)
	}
	return spec, nil
}

func generateSlices(node gpu.Node, opt Options) (*specs.Spec, error) {
	if err := node.Check(); err != nil {
		return nil, err
	}
	gpus := slices.SortedFunc(slices.Values(node.GPUs), func(a, b gpu.GPU) int { return cmp.Compare(a.Index, b.Index) })
	gpus = slices.DeleteFunc(gpus, func(g gpu.GPU) bool { return len(g.Slices) == 0 })
	missing := slices.DeleteFunc(slices.Clone(gpus), func(g gpu.GPU) bool {
		return !slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Kind == gpu.SliceSGPU && len(s.Nodes) == 0 })
	})
	if len(missing) > 0 && !opt.Partial {
		return nil, &IncompleteError{GPUs: missing, Total: len(gpus)}
	}
	var devices []device
	for _, g := range gpus {
		for _, s := range g.Slices {
			if len(s.Nodes) == 0 {
				continue
			}
			for _, name := range sliceNames(s) {
				devices = append(devices, device{name, edits.Slice(s)})
			}
		}
	}
	if len(devices) == 0 {
		return nil, ErrNoSlices
	}
	return opt.spec(SliceClass, edits.Common(node), devices, "")
}

// sliceNames are the names of the devices of a slice.
func sliceNames(s gpu.Slice) (names []string) {
	if s.UUID != "" {
		names = append(names, s.UUID)
	}
	if (s.BDF != gpu.BDF{}) {
		names = append(names, s.BDF.String())
	}
	return names
}
