// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"math/bits"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// A value is a few words; the first word in which two values differ decides. A word has
// several components, the more important in higher bits. The field of a component is wide
// enough for the greatest difference between two sets of the same size in one vertex, so
// no difference in a lower field outweighs one in a higher field. Values are sums, so
// their words can be added. Each word is between ±2^wordBits.
const (
	wordBits = 60
	// noSet is the first word of an entry without a set. It stays below leastSet when
	// words are added to it, and does not overflow when it is added to itself.
	noSet    = -1 << 62
	leastSet = -1 << 61
)

// layout says where the components of a policy's key are in the values of sets of up to
// most GPUs.
type layout struct {
	layoutKey
	fields []field
	words  int
	job    int64 // one job less, in the first word; 0 if jobs do not count
}

// layoutKey identifies a layout.
type layoutKey struct {
	policy key.Policy
	most   int
}

// layoutOf returns the key of the layout for a question. There are few, so that questions
// for different numbers of GPUs share what is remembered.
func layoutOf(q key.Question) layoutKey {
	k := layoutKey{q.Policy, 16}
	for k.most < q.N {
		k.most *= 8
	}
	return k
}

// field is the place of a component, or of one count of a capability: unit is what 1 of it
// adds to the word.
type field struct {
	of    key.Component
	class topology.Kind
	shift int // the count is of sets of 1<<shift
	word  int
	unit  int64
}

// newLayout packs the components of the key into words, in their order.
func newLayout(k layoutKey, d *dendrogram) *layout {
	ly := &layout{layoutKey: k, words: 1}
	room := wordBits
	add := func(f field, most int) {
		width := bits.Len(uint(most))
		if room < width {
			ly.words++
			room = wordBits
		}
		room -= width
		f.word, f.unit = ly.words-1, 1<<room
		ly.fields = append(ly.fields, f)
	}
	n := len(d.leaf)
	most := min(k.most, n)
	for _, c := range k.policy.Key() {
		switch c {
		case key.ByCapability, key.ByRest:
			d.eachCount(func(class topology.Kind, shift int) {
				of := n // a count of the rest changes by 1 at most with each chosen GPU
				if c == key.ByCapability {
					of = most
				}
				add(field{of: c, class: class, shift: shift}, min(of>>shift, most))
			})
		case key.ByWeight:
			add(field{of: c}, int(pairsOf(most))*d.weight)
		case key.ByCut:
			add(field{of: c}, most*n*d.weight)
		case key.ByLocality:
			add(field{of: c}, int(pairsOf(most))*int(topology.SameSwitch))
		case key.ByScore:
			room = 0
			ly.fields = append(ly.fields, field{of: c, unit: 1})
		case key.ByJobs:
			add(field{of: c}, n)
			ly.job = ly.fields[0].unit
		case key.ByClass, key.ByOrder: // the search tries the classes itself, and the numbers come last
		}
	}
	return ly
}

// eachCount visits the counts of a capability that can differ between sets of the same
// size, the most important first. All sets fit the worst class, and no set larger than the
// largest cluster fits a better one.
func (d *dendrogram) eachCount(visit func(class topology.Kind, shift int)) {
	for _, c := range d.classes[:max(len(d.classes)-1, 0)] {
		for shift := key.Log2(d.largest[c]); shift > 0; shift-- {
			visit(c, shift)
		}
	}
}

// changeJoinRank changes values from rank in, which joins the halves of a vertex, to rank out,
// which joins the vertex with the other half. It calls add with each word that changes,
// and by how much if s of the vertex's free GPUs are chosen.
//
// The counts of the classes between the ranks become known here. A component that adds up
// pairs is stored as the difference from its value if all pairs of the vertex had rank in,
// so that merging two halves adds nothing to it. Here it becomes the difference from
// rank out.
func (ly *layout) changeJoinRank(in, out link.Rank, gpus int, add func(word int, value func(s int) int64)) {
	weight := int64(in.Weight) - int64(out.Weight)
	local := int64(in.Locality) - int64(out.Locality)
	for _, f := range ly.fields {
		var value func(s int) int64
		switch f.of {
		case key.ByCapability, key.ByRest:
			if f.class > in.Class || f.class <= out.Class {
				continue
			}
			value = func(s int) int64 { return f.unit * int64(s>>f.shift) }
			if f.of == key.ByRest { // less its value if no GPU is chosen
				value = func(s int) int64 { return f.unit * int64((gpus-s)>>f.shift-gpus>>f.shift) }
			}
		case key.ByWeight:
			value = func(s int) int64 { return f.unit * weight * pairsOf(s) }
		case key.ByCut:
			value = func(s int) int64 { return -f.unit * weight * int64(s) * int64(gpus-s) }
		case key.ByLocality:
			value = func(s int) int64 { return f.unit * local * pairsOf(s) }
		case key.ByScore:
			value = func(s int) int64 {
				return f.unit * weight * ly.policy.Score(pairsOf(s), int64(s)*int64(gpus-s))
			}
		default:
			continue
		}
		add(f.word, value)
	}
}

// pairsOf returns the number of pairs among s GPUs.
func pairsOf(s int) int64 { return int64(s) * int64(s-1) / 2 }
