// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// Indices returns the GPUs in a list of names, separated by commas, or of "all", that an
// option was given; nil for an empty list.
func Indices(node gpu.Node, option, list string) ([]int, error) {
	switch strings.TrimSpace(list) {
	case "":
		return nil, nil
	case "all":
		every := make([]int, len(node.GPUs))
		for i := range every {
			every[i] = i
		}
		return every, nil
	}
	req, err := request.Parse("[" + strings.Trim(list, "[]") + "]")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	selection, err := resolveNames(node, req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	if selection.Slices != nil {
		return nil, fmt.Errorf("%s: %s are slices; want whole GPUs", option, req)
	}
	return selection.Explicit, nil
}

// DividedError reports a GPU that is requested as a whole and divided into slices.
type DividedError struct {
	Option string // that names the GPU
	GPU    int
	How    string // it is divided
}

func (e *DividedError) Error() string {
	return fmt.Sprintf("%s: GPU %d is divided into slices and cannot be used whole: %s (metax-ctk sgpu list)", e.Option,
		e.GPU, e.How)
}

// Whole returns the GPUs in a list, as Indices does, that can be given as a whole: one that is
// divided is left out of "all", and a *DividedError by name.
func Whole(node gpu.Node, option, list string) ([]int, error) {
	named, err := Indices(node, option, list)
	if err != nil {
		return nil, err
	}
	var whole []int
	for _, i := range named {
		how, divided := node.GPUs[i].Divided()
		switch {
		case !divided:
			whole = append(whole, i)
		case strings.TrimSpace(list) != "all":
			return nil, &DividedError{option, i, how}
		}
	}
	return whole, nil
}

// Without returns the members of a set that are not in out.
func Without(set, out []int) []int {
	return slices.DeleteFunc(slices.Clone(set), func(i int) bool { return slices.Contains(out, i) })
}

// gpuIndices are the GPUs as the node numbers them, ascending; nil if it lacks one.
func gpuIndices(node gpu.Node, bdfs []gpu.BDF) []int {
	var out []int
	for _, bdf := range bdfs {
		g, ok := node.Lookup(bdf)
		if !ok {
			return nil
		}
		out = append(out, g.Index)
	}
	slices.Sort(out)
	return out
}

func gpuBDFs(node gpu.Node, indices []int) []gpu.BDF {
	out := make([]gpu.BDF, len(indices))
	for i, index := range indices {
		out[i] = node.GPUs[index].BDF
	}
	return out
}
