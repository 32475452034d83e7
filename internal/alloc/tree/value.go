package tree

import (
	"math/bits"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// A value is what a policy makes of a set, as far as it is settled within a
// vertex: a few words, the first one in which two values differ decides. A word
// holds several components, the more important higher; as a field is as wide as
// the greatest difference between two sets of as many GPUs of one vertex takes,
// no difference in a lower one outweighs it, and as values are sums, their
// words can be added up. Each is between ±2^wordBits.
const (
	wordBits = 60
	// nothing is the first word where there is no set. It stays below hardly when
	// words are added to it, and does not overflow when it is added to itself.
	nothing = -1 << 62
	hardly  = -1 << 61
)

// layout is where a policy's components are in the values of sets of up to so
// many GPUs.
type layout struct {
	layoutKey
	fields []field
	words  int
	job    int64 // what a job less is worth, in the first word; 0 if jobs do not count
}

type layoutKey struct {
	policy key.Policy
	most   int
}

// layout is the key of the layout for a question. There are few, so that
// questions for other numbers can share what is remembered.
func layoutOf(q key.Question) layoutKey {
	k := layoutKey{q.Policy, 16}
	for k.most < q.N {
		k.most *= 8
	}
	return k
}

// field is a component, or one count of a capability: unit is what one of it adds
// to the word.
type field struct {
	of    key.Component
	class topology.Kind
	shift int // the count is of sets of 1<<shift
	word  int
	unit  int64
}

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
			d.counted(func(class topology.Kind, shift int) {
				of := n // a count of the rest changes by one at most with each GPU chosen
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
		}
	}
	return ly
}

// counted visits the counts of a capability that can differ between sets as
// large, the most important first. All sets fit the worst class, and none larger
// than the largest domain fits a better one.
func (d *dendrogram) counted(visit func(class topology.Kind, shift int)) {
	for _, c := range d.kinds[:max(len(d.kinds)-1, 0)] {
		for shift := key.Log2(d.largest[c]); shift > 0; shift-- {
			visit(c, shift)
		}
	}
}

// settle calls add for each field that changes on the way up from a vertex of so
// many free GPUs to the one whose half it is, with what it is changed by where s
// are chosen. The vertex joins its halves by rank in, and is joined by rank out.
// The counts of the classes between them are known now. What counts pairs stands
// in a value as the difference from what it were if rank in joined all of the
// vertex's GPUs, so that joining the halves added nothing; now it becomes the
// difference from rank out.
func (ly *layout) settle(in, out link.Rank, gpus int, add func(word int, value func(s int) int64)) {
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
			if f.of == key.ByRest { // less what it is if none is chosen
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

func pairsOf(s int) int64 { return int64(s) * int64(s-1) / 2 }
