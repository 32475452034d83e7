package cdi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/edits"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Options shape a spec. The zero value is what most hosts want.
type Options struct {
	// Vendor and Class make the kind; empty means DefaultVendor, DefaultClass.
	Vendor, Class string
	// Names are the ways in which devices are named.
	Names Names
	// EngineRoot is a directory below which the engine finds the host's files,
	// as those of a simulated tree; empty or "/" changes nothing. In the
	// container everything stands where it would without.
	EngineRoot string
	// NoGroups leaves out the groups that own the device nodes. They need CDI
	// 0.7, and an engine that reads less (Podman 4) rejects the whole file;
	// containers of a user other than root then need --group-add.
	NoGroups bool
	// Partial accepts that some GPUs have no device nodes; they get no device.
	Partial bool
}

var (
	// ErrNoDevices reports a node none of whose GPUs has device nodes.
	ErrNoDevices = errors.New("no GPU with device nodes")
	// ErrDivided reports a node whose GPUs are all given in slices.
	ErrDivided = errors.New("no GPU is given as a whole: all are divided into slices")
)

// IncompleteError reports GPUs that are on the PCI bus but have no device
// nodes, as while the driver still comes up.
type IncompleteError struct {
	GPUs  []gpu.GPU // those without nodes
	Total int       // number of GPUs that a spec of its kind is about
}

func (e *IncompleteError) Error() string {
	names := make([]string, len(e.GPUs))
	for i, g := range e.GPUs {
		names[i] = strings.TrimPrefix(label(g), "GPU ")
	}
	return fmt.Sprintf("%d of %d GPUs have no device nodes: %s", len(e.GPUs), e.Total, strings.Join(names, ", "))
}

// incomplete returns the GPUs of a node that would be given as a whole but have
// no device nodes.
func incomplete(node gpu.Node) []gpu.GPU {
	return slices.DeleteFunc(whole(node), func(g gpu.GPU) bool { return len(g.Nodes) > 0 })
}

// whole are the GPUs of a node that containers can be given as they are.
func whole(node gpu.Node) []gpu.GPU {
	return slices.DeleteFunc(slices.Clone(node.GPUs), func(g gpu.GPU) bool { return divided(g) || g.SetAside() })
}

func divided(g gpu.GPU) bool {
	_, divided := g.Divided()
	return divided
}

// Generate makes the spec of a node's whole GPUs; those that are divided are in
// that of GenerateSlices. A GPU brings its own device nodes; with any GPU come the
// nodes that all share and, read-only, the driver's user part. Device nodes carry no
// numbers: the engine looks them up when it injects, so that the spec stays true
// across a reload of the driver. The result depends on nothing but the arguments.
//
// It fails with *IncompleteError (unless opt.Partial), ErrNoDevices, ErrDivided,
// ErrNames, gpu.ErrNode or ErrSpec.
func Generate(node gpu.Node, opt Options) (*specs.Spec, error) {
	spec, err := generate(node, opt)
	if err != nil {
		return nil, fmt.Errorf("generate CDI spec: %w", err)
	}
	return spec, nil
}

func generate(node gpu.Node, opt Options) (*specs.Spec, error) {
	if err := node.Check(); err != nil {
		return nil, err
	}
	gpus, missing := whole(node), incomplete(node)
	switch {
	case len(gpus) == 0 && slices.ContainsFunc(node.GPUs, divided):
		return nil, ErrDivided
	case len(missing) == len(gpus):
		return nil, ErrNoDevices
	case len(missing) > 0 && !opt.Partial:
		return nil, &IncompleteError{GPUs: missing, Total: len(gpus)}
	}
	devices, err := devices(gpus, cmp.Or(opt.Names, AllNames))
	if err != nil {
		return nil, err
	}
	return opt.spec(DefaultClass, edits.Common(node), devices, "")
}

// devices are those of each of the GPUs that has nodes, and "all".
func devices(gpus []gpu.GPU, names Names) ([]device, error) {
	gpus = slices.SortedFunc(slices.Values(gpus), func(a, b gpu.GPU) int { return cmp.Compare(a.Index, b.Index) })
	var list []device
	var all []edits.Edits
	for _, g := range gpus {
		if len(g.Nodes) == 0 {
			continue
		}
		own, err := names.of(g)
		if err != nil {
			return nil, err
		}
		for _, name := range own {
			list = append(list, device{name, edits.GPU(g)})
		}
		all = append(all, edits.GPU(g))
	}
	if names&All != 0 {
		list = append(list, device{allDevice, edits.Join(all...)})
	}
	return list, nil
}
