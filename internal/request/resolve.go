// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Selection is a Request on one node. Exactly one of its forms is set.
type Selection struct {
	// All requests every GPU of the node.
	All bool
	// Count is the number of requested GPUs, which may be more than the node has.
	Count int
	// Explicit are positions in the GPUs that Resolve was given, without duplicates, in
	// the order of addresses. They may be unhealthy, because they were requested by
	// name.
	Explicit []int
	// Slices are the requested slices, without duplicates, in the order of their GPUs'
	// addresses.
	Slices []SliceRef
}

// SliceRef is the position of a slice: gpus[GPU].Slices[Slice] of the GPUs that Resolve
// was given.
type SliceRef struct{ GPU, Slice int }

// Resolve finds the GPUs or slices that r names. An ID is compared with index, UUID,
// PCI address (the domain 0000 may be omitted) and serial number, ignoring case, so
// that a number which is the index of one GPU and the serial number of another is
// refused instead of guessed. If no GPU has the ID, it may be the beginning of one
// GPU's UUID. GPUs with slices are found like others. It fails for an unknown or
// ambiguous ID, and for two IDs of one GPU or slice.
func (r Request) Resolve(gpus []gpu.GPU) (Selection, error) {
	if len(r.Slices) > 0 {
		return r.resolveSlices(gpus)
	}
	if len(r.IDs) == 0 {
		return Selection{All: r.All, Count: r.Count}, nil
	}
	by := make(map[int]string, len(r.IDs)) // position → the ID that named it
	var at []int
	for _, given := range r.IDs {
		for _, id := range expandRange(given) {
			i, err := findGPU(id, gpus)
			var unknown *UnknownError
			if errors.As(err, &unknown) && id != given {
				unknown.Range = given
			}
			if err != nil {
				return Selection{}, err
			}
			if first, ok := by[i]; ok {
				return Selection{}, fmt.Errorf("GPU %q and GPU %q: both are %s; name it once", first, id, describeGPU(gpus[i]))
			}
			by[i] = id
			at = append(at, i)
		}
	}
	slices.SortFunc(at, func(i, j int) int { return cmp.Or(gpus[i].BDF.Compare(gpus[j].BDF), i-j) })
	return Selection{Explicit: at}, nil
}

// minUUIDPart is the length of the shortest beginning of a UUID that names a GPU, such as
// "GPU-3fd4".
const minUUIDPart = 8

// findGPU returns the position of the one GPU with that ID.
func findGPU(id string, gpus []gpu.GPU) (int, error) {
	bdf := parseBDF(id)
	var found []int
	for i, g := range gpus {
		address := bdf == g.BDF && bdf != (gpu.BDF{})
		if address || strconv.Itoa(g.Index) == id || g.UUID.Equal(id) || strings.EqualFold(g.Serial, id) {
			found = append(found, i)
		}
	}
	if len(found) == 0 && len(id) >= minUUIDPart {
		for i, g := range gpus {
			if len(g.UUID) > len(id) && g.UUID[:len(id)].Equal(id) {
				found = append(found, i)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if ref, err := findSlice(id, gpus); err == nil {
			return 0, fmt.Errorf("%q is not a GPU, but %s: use %s%[1]s", id, describeSlice(gpus, ref), slicePrefix)
		}
		return 0, &UnknownError{ID: id, GPUs: inventory(gpus) + unreadIDs(id, gpus) + tooShort(id, gpus)}
	}
	var names []string
	for _, i := range found {
		names = append(names, describeGPU(gpus[i]))
	}
	return 0, fmt.Errorf("GPU %q is ambiguous: %s; use the UUID or PCI address (metax-ctk device list)", id,
		strings.Join(names, " or "))
}

// unreadIDs says how the IDs of GPUs become known, if the ID may be a UUID or serial number
// and none is known.
func unreadIDs(id string, gpus []gpu.GPU) string {
	_, err := strconv.Atoi(id)
	index := err == nil && len(id) <= 4 // no node has more GPUs; serial numbers are longer
	known := slices.ContainsFunc(gpus, func(g gpu.GPU) bool { return g.UUID != "" || g.Serial != "" })
	if index || known || len(gpus) == 0 || strings.Contains(id, ":") {
		return ""
	}
	return ", whose UUIDs and serial numbers are unknown (metax-ctk doctor)"
}

// tooShort says how long the beginning of a UUID must be, if the ID is a shorter one.
func tooShort(id string, gpus []gpu.GPU) string {
	for _, g := range gpus {
		if len(id) < minUUIDPart && len(g.UUID) > minUUIDPart && g.UUID[:len(id)].Equal(id) {
			return fmt.Sprintf("; the beginning of a UUID needs at least %d characters, such as %s", minUUIDPart,
				g.UUID[:minUUIDPart])
		}
	}
	return ""
}

// inventory lists the GPUs for a message.
func inventory(gpus []gpu.GPU) string {
	var indices []int
	for _, g := range gpus {
		indices = append(indices, g.Index)
	}
	slices.Sort(indices)
	switch len(gpus) {
	case 0:
		return "no GPU"
	case 1:
		return fmt.Sprintf("only GPU %d", indices[0])
	}
	return fmt.Sprintf("GPUs %s", wording.Ranges(indices))
}

// parseBDF parses a PCI address with or without its domain; the result is zero for
// anything else.
func parseBDF(id string) gpu.BDF {
	if strings.Count(id, ":") == 1 {
		id = "0000:" + id // as lspci prints it
	}
	b, err := gpu.ParseBDF(id)
	if err != nil {
		return gpu.BDF{}
	}
	return b
}

// describeGPU names a GPU in a message by its index, address and serial number.
func describeGPU(g gpu.GPU) string {
	s := "GPU " + strconv.Itoa(g.Index)
	if (g.BDF != gpu.BDF{}) {
		s += " at " + g.BDF.String()
	}
	if g.Serial != "" {
		s += " with serial number " + g.Serial
	}
	return s
}
