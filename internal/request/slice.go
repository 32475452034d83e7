// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// resolveSlices finds the slices that r names.
func (r Request) resolveSlices(gpus []gpu.GPU) (Selection, error) {
	by := make(map[SliceRef]string, len(r.Slices)) // where → the ID that named it
	var refs []SliceRef
	for _, id := range r.Slices {
		ref, err := findSlice(id, gpus)
		if err != nil {
			return Selection{}, err
		}
		if first, ok := by[ref]; ok {
			return Selection{},
				fmt.Errorf("slice %q and slice %q: both are %s; name it once", first, id, describeSlice(gpus, ref))
		}
		by[ref] = id
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b SliceRef) int {
		return cmp.Or(gpus[a.GPU].BDF.Compare(gpus[b.GPU].BDF), a.GPU-b.GPU, a.Slice-b.Slice)
	})
	return Selection{Slices: refs}, nil
}

// findSlice returns the position of the one slice with that UUID, ignoring case, or PCI
// address.
func findSlice(id string, gpus []gpu.GPU) (SliceRef, error) {
	bdf := parseBDF(id)
	var found []SliceRef
	var all []string
	for i, g := range gpus {
		for k, s := range g.Slices {
			address := bdf == s.BDF && bdf != (gpu.BDF{})
			if address || (s.UUID != "" && strings.EqualFold(s.UUID, id)) {
				found = append(found, SliceRef{i, k})
			}
			if name := s.Name(); name != "" {
				all = append(all, name)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return SliceRef{}, fmt.Errorf("%q is not a slice; this node has %s", id, sliceInventory(all))
	}
	var names []string
	for _, ref := range found {
		names = append(names, describeSlice(gpus, ref))
	}
	return SliceRef{}, fmt.Errorf("slice %q is ambiguous: %s (metax-ctk sgpu list)", id, strings.Join(names, " or "))
}

// sliceInventory lists the first slices by name, for a message.
func sliceInventory(all []string) string {
	const shown = 8
	n := len(all)
	switch {
	case n == 0:
		return "no slice (metax-ctk sgpu create makes one)"
	case n > shown:
		return fmt.Sprintf("%s and %d more (metax-ctk sgpu list)", strings.Join(all[:shown], ", "), n-shown)
	}
	return strings.Join(all, ", ") + " (metax-ctk sgpu list)"
}

// describeSlice names a slice in a message by its position.
func describeSlice(gpus []gpu.GPU, ref SliceRef) string {
	g, s := gpus[ref.GPU], gpus[ref.GPU].Slices[ref.Slice]
	if s.Kind == gpu.SliceVF {
		return fmt.Sprintf("virtual function %s of GPU %d", s.BDF, g.Index)
	}
	return fmt.Sprintf("sGPU %d of GPU %d", s.Index, g.Index)
}
