package alloc

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// fabric is a graph as the branch and bound search looks at it: as relations of
// GPUs, which cost a bit for each pair.
type fabric struct {
	scale       *scale
	gpus, words int
	kinds       []topology.Kind // that occur, best first
	counted     int             // how many of them the capability counts
	joined      []relation      // by place in kinds: pairs of that kind or better
	weights     []level         // of the pairs' weights, greatest first
	degree      []int           // by GPU: the weight of all its pairs
	near        []level         // of their localities, greatest first
	sameSwitch  relation
	sameNUMA    relation
	twins       []int          // as of the scale
	buddies     func() *domain // the hierarchy that MTF counts jobs by
}

// level is pairs of about one worth.
type level struct {
	low, high int // the bounds of what they are worth
	pairs     relation
}

// maxLevels is how many levels the pairs are told apart by.
const maxLevels = 8

func newFabric(s *scale, root *domain) *fabric {
	n := s.g.Len()
	f := &fabric{
		scale: s, gpus: n, words: (n + 63) / 64, kinds: classes(s.g), degree: make([]int, n), twins: s.twins(),
		sameSwitch: newRelation(n), sameNUMA: newRelation(n),
		buddies: sync.OnceValue(root.regardless),
	}
	f.counted = max(len(f.kinds)-1, min(len(f.kinds), 1))
	f.weights = s.levels()
	for l := topology.SameSwitch; l <= topology.SameSwitch; l-- { // 0-1 wraps
		f.near = append(f.near, level{int(l), int(l), newRelation(n)})
	}
	var kindAt [topology.MX + 1]int
	for at, k := range f.kinds {
		kindAt[k] = at
		f.joined = append(f.joined, newRelation(n))
	}
	for i := range n {
		for j := range i {
			f.joined[kindAt[s.g.Kind(i, j)]].relate(i, j)
			f.near[topology.SameSwitch-s.g.Locality(i, j)].pairs.relate(i, j)
			w := s.weight(i, j)
			f.degree[i] += w
			f.degree[j] += w
			at := 0
			for w < f.weights[at].low {
				at++
			}
			f.weights[at].pairs.relate(i, j)
			place := s.rank(i, j).place()
			if Switch.holds(place) {
				f.sameSwitch.relate(i, j)
			}
			if NUMA.holds(place) {
				f.sameNUMA.relate(i, j)
			}
		}
	}
	for at := range f.joined[min(1, len(f.joined)):] {
		vertices(f.joined[at+1].bits).join(f.joined[at].bits, f.joined[at+1].bits)
	}
	return f
}

// degrees fills in the weight of the links that each of the free GPUs has with
// the others of them.
func (f *fabric) degrees(degree []int, free vertices, list []int) {
	if 2*len(list) < f.gpus {
		for at, i := range list {
			for _, j := range list[:at] {
				w := f.scale.weight(i, j)
				degree[i] += w
				degree[j] += w
			}
		}
		return
	}
	busy := newVertices(f.words)
	for i := range f.gpus {
		if !free.has(i) {
			busy.add(i)
		}
	}
	for _, i := range list {
		degree[i] = f.degree[i]
		for j := range busy.each {
			degree[i] -= f.scale.weight(i, j)
		}
	}
}

// levels are as many as there are weights, or fewer that each stand for several.
func (s *scale) levels() (all []level) {
	n := s.g.Len()
	found := map[int]bool{}
	for i := range n {
		for j := range i {
			if w := s.weight(i, j); len(found) == 0 || !found[w] {
				found[w] = true
			}
		}
	}
	sorted := slices.SortedFunc(maps.Keys(found), func(a, b int) int { return cmp.Compare(b, a) })
	each := max(1, (len(sorted)+maxLevels-1)/maxLevels)
	for part := range slices.Chunk(sorted, each) {
		all = append(all, level{part[len(part)-1], part[0], newRelation(n)})
	}
	return all
}
