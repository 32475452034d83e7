// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Given is what metax-docker gave a container when it made it. Device nodes are paths, which
// another GPU may have after a boot; the names here stay the same.
type Given struct {
	// GPUs are UUIDs, or PCI addresses where the UUID was not known, also those of the GPUs
	// that Slices are parts of.
	GPUs []string
	// Slices are the names of slices.
	Slices []string
	// Service is the container's service in its project of compose; empty for others.
	Service string
}

// The variable of containers without IDsLabel that says the same.
const uuidsVariable = "METAX_GPU_UUIDS="

// GivenBy returns what the labels of a container say, or those of its variables that
// metax-docker set before it set IDsLabel; nothing for a container without a lease.
func GivenBy(labels map[string]string, env []string) Given {
	if !ValidID(labels[LeaseLabel]) {
		return Given{}
	}
	g := Given{GPUs: names(labels[IDsLabel]), Slices: names(labels[SlicesLabel]), Service: labels[ComposeService]}
	for _, v := range env {
		if list, ok := strings.CutPrefix(v, uuidsVariable); ok && g.GPUs == nil {
			g.GPUs = names(list)
		}
	}
	return g
}

// names splits a list at its commas and returns the names ascending; nil for none.
func names(list string) (all []string) {
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' }) {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// IDs returns the names of GPUs for Given.
func IDs(gpus []gpu.GPU) []string {
	out := make([]string, len(gpus))
	for i, g := range gpus {
		if out[i] = string(g.UUID); out[i] == "" {
			out[i] = g.BDF.String()
		}
	}
	return out
}

// MovedError reports a container that would start with other GPUs or slices than those that it
// was made for, because the nodes that it names belong to others now.
type MovedError struct {
	Was, Now string // "GPU 2 (0000:10:00.0)"; Now is empty if the nodes are of no GPU
	GPU      string // the name of the first that it was made for
}

// Error names both.
func (e *MovedError) Error() string {
	if e.Now == "" {
		return "it was made for " + e.Was + ", and its device nodes belong to no GPU now"
	}
	return "it was made for " + e.Was + ", and its device nodes belong to " + e.Now + " now"
}

// ErrUUIDsUnknown reports a container whose GPUs cannot be compared with those of the node.
var ErrUUIDsUnknown = errors.New(
	"the UUIDs of the GPUs are not known since the boot, so it cannot be checked that its device nodes still belong to its GPUs: sudo metax-ctk cdi generate")

// CheckGiven compares the GPUs and slices whose nodes a container has with those that it was
// given. The error is a *MovedError, ErrUUIDsUnknown, or says which GPU or slice is not there
// any more; nil for a container of which nothing was recorded.
func (c Container) CheckGiven(node gpu.Node) error {
	var now []gpu.GPU
	for _, bdf := range c.GPUs {
		if g, ok := node.Lookup(bdf); ok {
			now = append(now, g)
		}
	}
	var was []gpu.GPU
	for _, id := range c.Given.GPUs {
		g, err := lookup(node, id)
		if err != nil {
			return err
		}
		was = append(was, g)
	}
	lacks := func(g gpu.GPU) bool { return !slices.Contains(c.GPUs, g.BDF) }
	if lost := slices.IndexFunc(was, lacks); lost >= 0 && !(c.Privileged && len(now) == 0) {
		isOther := func(g gpu.GPU) bool { return slices.ContainsFunc(was, func(w gpu.GPU) bool { return w.BDF == g.BDF }) }
		return &MovedError{
			Was: list(slices.DeleteFunc(slices.Clone(was), func(g gpu.GPU) bool { return !lacks(g) })),
			Now: list(slices.DeleteFunc(now, isOther)), GPU: c.Given.GPUs[lost],
		}
	}
	return c.checkSlices(node)
}

// checkSlices is the part of CheckGiven about slices. A slice without nodes of its own is
// known by its name alone.
func (c Container) checkSlices(node gpu.Node) error {
	if c.Given.Slices == nil {
		return nil
	}
	there := func(name string) bool {
		return slices.ContainsFunc(node.GPUs, func(g gpu.GPU) bool {
			return slices.ContainsFunc(g.Slices, func(s gpu.Slice) bool { return s.Name() == name })
		})
	}
	for _, name := range c.Given.Slices {
		if !there(name) {
			return fmt.Errorf("slice %s of the container is not there any more (metax-ctk sgpu list)", name)
		}
	}
	others := slices.DeleteFunc(slices.Clone(c.Slices),
		func(name string) bool { return slices.Contains(c.Given.Slices, name) })
	if len(others) == 0 {
		return nil
	}
	return &MovedError{
		Was: "slice " + strings.Join(c.Given.Slices, ", "), Now: "slice " + strings.Join(others, ", "),
		GPU: "sgpu:" + c.Given.Slices[0],
	}
}

// lookup finds the GPU with the name in a Given.
func lookup(node gpu.Node, id string) (gpu.GPU, error) {
	unknown := false
	for _, g := range node.GPUs {
		if g.UUID.Equal(id) || g.BDF.String() == id {
			return g, nil
		}
		unknown = unknown || g.UUID == ""
	}
	if _, err := gpu.ParseBDF(id); err != nil && unknown {
		return gpu.GPU{}, ErrUUIDsUnknown
	}
	return gpu.GPU{}, fmt.Errorf("GPU %s of the container is not there any more (metax-ctk device list)", id)
}

// list names GPUs for a message.
func list(gpus []gpu.GPU) string {
	texts := make([]string, len(gpus))
	for i, g := range gpus {
		texts[i] = fmt.Sprintf("GPU %d (%s)", g.Index, g.BDF)
	}
	return strings.Join(texts, ", ")
}
