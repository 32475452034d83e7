// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Names is the set of ways in which the devices of a spec are named. The zero value stands for
// AllNames.
type Names uint8

// A GPU is a device under each of its names; All adds the device "all", which is every GPU of
// the node.
const (
	ByIndex Names = 1 << iota // "0": the position in BDF order
	ByUUID                    // "GPU-3fd4…": stays with the card
	ByBDF                     // "0000:0e:00.0": stays with the slot
	All                       // "all"

	AllNames = ByIndex | ByUUID | ByBDF | All
)

const allDevice = "all"

// ErrNames reports a kind of name that does not exist, or that a GPU does not have.
var ErrNames = errors.New("unusable device names")

// nameWords are the words for the bits of Names, from ByIndex on.
var nameWords = []string{"index", "uuid", "bdf", allDevice}

// ParseNames reads words, or comma lists of words, of "index", "uuid", "bdf" and "all" in
// any order; without a word it returns AllNames.
func ParseNames(words ...string) (Names, error) {
	var n Names
	for _, list := range words {
		for word := range strings.SplitSeq(list, ",") {
			i := slices.Index(nameWords, strings.TrimSpace(word))
			if i < 0 {
				return 0, fmt.Errorf("%w: %q is not a kind of name; want a list of index, uuid, bdf, all%s", ErrNames, word,
					wording.Meant(word, nameWords...))
			}
			n |= 1 << i
		}
	}
	return cmp.Or(n, AllNames), nil
}

// String is the comma list that ParseNames reads.
func (n Names) String() string {
	var words []string
	for i, word := range nameWords {
		if n&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return strings.Join(words, ",")
}

// forGPU returns the names of one GPU.
func (n Names) forGPU(g gpu.GPU) ([]string, error) {
	var names []string
	if n&ByIndex != 0 {
		names = append(names, fmt.Sprint(g.Index))
	}
	if n&ByUUID != 0 && g.UUID != "" {
		names = append(names, string(g.UUID))
	}
	if n&ByBDF != 0 && g.BDF != (gpu.BDF{}) {
		names = append(names, g.BDF.String())
	}
	if len(names) == 0 && n != All {
		return nil, fmt.Errorf("%w: %s has no %s", ErrNames, gpuLabel(g), n&^All)
	}
	return names, nil
}

// gpuLabel names a GPU in a message.
func gpuLabel(g gpu.GPU) string {
	if g.BDF != (gpu.BDF{}) {
		return "GPU " + g.BDF.String()
	}
	return fmt.Sprintf("GPU %d", g.Index)
}

// NamesOf returns the ways in which the devices of a spec are named, AllNames if it
// recognises none of the names.
func NamesOf(spec *specs.Spec) Names {
	var n Names
	for _, d := range spec.Devices {
		n |= kindOfName(d.Name)
	}
	return cmp.Or(n, AllNames)
}

func kindOfName(device string) Names {
	if device == allDevice {
		return All
	}
	if _, err := strconv.Atoi(device); err == nil {
		return ByIndex
	}
	if _, err := gpu.ParseBDF(device); err == nil {
		return ByBDF
	}
	if _, err := gpu.ParseUUID(device); err == nil {
		return ByUUID
	}
	return 0
}
