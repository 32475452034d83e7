// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/lease"
	"github.com/metax-ctk/container-toolkit/internal/usage"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// InUse says who uses a GPU; nil for one that nobody uses.
func InUse(g gpu.GPU, holders []usage.Holder) error {
	if held := usage.Held(holders, g.BDF); held != nil {
		return &lease.HeldError{GPU: g.Index, Holder: held[0]}
	}
	return nil
}

// whyRefused says who uses a GPU, or that it is reserved; nil for one that is free.
func whyRefused(g gpu.GPU, holders []usage.Holder, reserved []gpu.BDF) error {
	if err := InUse(g, holders); err != nil {
		return err
	}
	if slices.Contains(reserved, g.BDF) {
		return &lease.QueueError{Waiting: 1}
	}
	return nil
}

// Free are the GPUs that may be picked: healthy, given as a whole, and in use by none of
// the holders.
func Free(node gpu.Node, holders []usage.Holder) []int {
	free, _ := splitFree(node, nil, holders, nil)
	return free
}

// splitFree splits the healthy GPUs into those that are free and those that are in use. Taken
// are those of other requests.
func splitFree(node gpu.Node, taken map[int]string, holders []usage.Holder, reserved []gpu.BDF) (free, inUse []int) {
	for _, i := range node.Healthy() {
		if _, ok := taken[i]; ok || whyRefused(node.GPUs[i], holders, reserved) != nil {
			inUse = append(inUse, i)
		} else {
			free = append(free, i)
		}
	}
	return free, inUse
}

// Held returns the indices of the GPUs that are in use.
func Held(node gpu.Node, holders []usage.Holder) (held []int) {
	for _, g := range node.GPUs {
		if usage.Held(holders, g.BDF) != nil {
			held = append(held, g.Index)
		}
	}
	return held
}

// HolderNames says who uses each GPU: the first holder, and how many more there are.
func HolderNames(node gpu.Node, holders []usage.Holder) []string {
	names := make([]string, len(node.GPUs))
	for i, g := range node.GPUs {
		if held := usage.Held(holders, g.BDF); len(held) > 0 {
			names[i] = held[0].String()
			if more := len(held) - 1; more > 0 {
				names[i] += fmt.Sprintf(" and %d more", more)
			}
		}
	}
	return names
}

// maxUsers is the number of users of GPUs that a note names.
const maxUsers = 2

// gpuUsers lists who uses which of these GPUs, such as "0,3 by container a (docker)", in the
// order of the GPUs.
func gpuUsers(node gpu.Node, holders []usage.Holder, gpus []int) []string {
	var names []string
	by := map[string][]int{}
	for _, i := range gpus {
		held := usage.Held(holders, node.GPUs[i].BDF)
		if held == nil {
			continue
		}
		name, _, _ := strings.Cut(held[0].String(), ", ")
		if by[name] == nil {
			names = append(names, name)
		}
		by[name] = append(by[name], i)
	}
	for at, name := range names {
		names[at] = wording.Ranges(by[name]) + " by " + name
	}
	return names
}
