// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"encoding/binary"
	"math"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/tree"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Order returns a text by which nodes are compared for a job: of two scores for the same
// request, that with the greater text is better, and nodes with the same text are equally
// good. It has the components of the policy's key, but what a node loses instead of what it
// keeps, so that a larger node is not better because it is larger.
//
// No policy inverts the order. By First all nodes are equal.
func (s NodeScore) Order() string {
	var text []byte
	for _, c := range s.Key {
		switch c {
		case key.ByClass:
			text = appendNumber(text, int(s.Class))
		case key.ByCapability:
			text = appendSets(text,
				func(class topology.Kind, size int) int { return s.setsOf(s.Capability, len(s.GPUs), class, size) })
		case key.ByWeight:
			text = appendNumber(text, s.Weight)
		case key.ByRest:
			text = appendSets(text, func(class topology.Kind, size int) int {
				return s.setsOf(s.After, s.Free-len(s.GPUs), class, size) - s.setsOf(s.Before, s.Free, class, size)
			})
		case key.ByCut:
			text = appendNumber(text, -s.Cut)
		case key.ByLocality:
			text = appendNumber(text, s.Locality)
		case key.ByScore:
			text = binary.BigEndian.AppendUint64(text, uint64(math.Round(s.Score*1000))^1<<63) // thousandths
		case key.ByJobs:
			text = appendNumber(text, -s.Jobs)
		case key.ByOrder: // GPU numbers of two nodes cannot be compared
		}
	}
	return string(text)
}

// appendSets appends counts of sets, the most important first. All classes take part, also
// those that a node does not count: a class that every set fits says how many jobs of a size
// have room at all.
func appendSets(text []byte, sets func(class topology.Kind, size int) int) []byte {
	for _, class := range topology.Classes() {
		for size := tree.MaxGPUs; size > 1; size /= 2 {
			text = binary.BigEndian.AppendUint16(text, uint16(sets(class, size))^1<<15)
		}
	}
	return text
}

// appendNumber appends a number so that the order of the texts is that of the numbers.
func appendNumber(text []byte, v int) []byte {
	return binary.BigEndian.AppendUint32(text, uint32(v)^1<<31)
}
