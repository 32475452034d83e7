// SPDX-License-Identifier: Apache-2.0

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
	// EngineRoot is a directory below which the engine finds the host's files, such as
	// a simulated tree; empty or "/" changes nothing. Paths in the container stay the
	// same.
	EngineRoot string
	// NoGroups leaves out the groups of processes. They need CDI 0.7, and an engine that
	// knows only older versions (Podman 4) rejects the whole file. Containers of a user
	// other than root then need --group-add.
	NoGroups bool
	// Hook is the path at which the engine finds metax-hook. Without it, GPUs and slices
	// come without links, and MXMACA is ErrNoHook.
	Hook string
	// Partial accepts that some GPUs have no device nodes, and leaves them out.
	Partial bool
}

var (
	// ErrNoDevices reports a node without a GPU that has device nodes.
	ErrNoDevices = errors.New("no GPU with device nodes")
	// ErrDivided reports a node that gives all GPUs in slices.
	ErrDivided = errors.New("no GPU can be used whole: all are divided into slices")
)

// IncompleteError reports GPUs that are on the PCI bus but have no device nodes, for
// instance while the driver is being loaded.
type IncompleteError struct {
	GPUs  []gpu.GPU // those without nodes
	Total int       // number of GPUs of the kind that was to be generated
}

func (e *IncompleteError) Error() string {
	names := make([]string, len(e.GPUs))
	for i, g := range e.GPUs {
		names[i] = strings.TrimPrefix(gpuLabel(g), "GPU ")
	}
	return fmt.Sprintf("%d of %d GPUs have no device nodes: %s", len(e.GPUs), e.Total, strings.Join(names, ", "))
}

// wholeGPUs returns the GPUs of a node that can be given as they are, by index, and
// those of them that have no device nodes.
func wholeGPUs(node gpu.Node) (whole, missing []gpu.GPU) {
	for _, g := range byIndex(node.GPUs) {
		if isDivided(g) || g.SetAside() {
			continue
		}
		whole = append(whole, g)
		if len(g.Nodes) == 0 {
			missing = append(missing, g)
		}
	}
	return whole, missing
}

func byIndex(gpus []gpu.GPU) []gpu.GPU {
	return slices.SortedFunc(slices.Values(gpus), func(a, b gpu.GPU) int { return cmp.Compare(a.Index, b.Index) })
}

func isDivided(g gpu.GPU) bool {
	_, divided := g.Divided()
	return divided
}

// Generate makes the spec of a node's whole GPUs; those that are divided are in that of
// GenerateSlices. A device has the GPU's own edits, and the spec as a whole edits.Common.
// The result depends on the arguments alone.
//
// It fails with *IncompleteError (unless opt.Partial), ErrNoDevices, ErrDivided,
// ErrNames, gpu.ErrNode or ErrSpec.
func Generate(node gpu.Node, opt Options) (spec *specs.Spec, err error) {
	defer wrapError(&err, "generate CDI spec")
	if err := node.Check(); err != nil {
		return nil, err
	}
	gpus, missing := wholeGPUs(node)
	switch {
	case len(gpus) == 0 && slices.ContainsFunc(node.GPUs, isDivided):
		return nil, ErrDivided
	case len(missing) == len(gpus):
		return nil, ErrNoDevices
	case len(missing) > 0 && !opt.Partial:
		return nil, &IncompleteError{GPUs: missing, Total: len(gpus)}
	}
	names := cmp.Or(opt.Names, AllNames)
	var devices []device
	var all []edits.Edits
	var given []gpu.GPU
	for _, g := range gpus {
		if len(g.Nodes) == 0 {
			continue
		}
		own, err := names.forGPU(g)
		if err != nil {
			return nil, err
		}
		for _, name := range own {
			devices = append(devices, device{name, edits.GPU(g)})
		}
		all, given = append(all, edits.GPU(g)), append(given, g)
	}
	if names&All != 0 {
		every := edits.Join(all...)
		every.Env = edits.GPUVariables(given)
		devices = append(devices, device{allDevice, every})
	}
	return opt.buildSpec(DefaultClass, edits.Common(node), devices)
}

// wrapError says in an error what was being done.
func wrapError(err *error, action string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", action, *err)
	}
}
