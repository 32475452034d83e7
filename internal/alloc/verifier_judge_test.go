package alloc

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

const (
	// maxVerified is the greatest number of sets that an answer is compared with.
	maxVerified = 20_000
	// maxSteps bounds the work of one verification, and maxQuestion that of a
	// single question about one set. A step is about a look at a pair of GPUs.
	maxSteps    = 1 << 26
	maxQuestion = 1 << 22
)

// judge works out what sets of free GPUs are worth, from the definitions.
type judge struct {
	g        *topology.Graph
	q        key.Question
	key      []key.Component // what sets are compared by, without the order of their GPUs
	bounded  bool            // capabilities may be less than there is
	worth    func(i, j int) int
	classes  []topology.Kind // that occur on the node, best first
	clusters [][]*cluster    // by class: the free GPUs that links of it or better join
	of       [][]*cluster    // by class and GPU: its cluster
	pull     []int           // by GPU: the weight of its links to all free ones
	family   *family         // of MTF
	steps    int
	unknown  []string
}

// cluster is a greatest set of free GPUs that a class of links keeps together.
type cluster struct {
	gpus    []int
	clique  bool     // each two of them are so linked
	lattice *lattice // otherwise, and if it is small enough
}

// answered is a number worked out, unless that took too long.
type answered struct {
	n     int
	known bool
}

func newJudge(g *topology.Graph, w link.Weights, q key.Question) (*judge, error) {
	j := &judge{g: g, q: q, key: verifiedKeys[q.Policy.Objective()], pull: make([]int, g.Len()), steps: maxSteps}
	var err error
	if j.worth, err = worth(g, w); err != nil {
		return nil, err
	}
	occurs := map[topology.Kind]bool{}
	for a := range g.Len() {
		for b := range a {
			occurs[alloctest.ClassOf(g, a, b)] = true
		}
	}
	for _, c := range topology.Classes() {
		if occurs[c] {
			j.classes = append(j.classes, c)
			clusters, of := j.split(c)
			j.clusters, j.of = append(j.clusters, clusters), append(j.of, of)
		}
	}
	for _, a := range q.Free {
		for _, b := range q.Free {
			if a != b {
				j.pull[a] += j.worth(a, b)
			}
		}
	}
	if q.Policy.Objective() == key.ObjectiveMTF {
		all := make([]int, g.Len())
		for i := range all {
			all[i] = i
		}
		j.family = j.descend(all)
	}
	return j, nil
}

// worth is the definition of Weights.
func worth(g *topology.Graph, w link.Weights) (func(i, j int) int, error) {
	byKind := map[topology.Kind]int{
		topology.MX: 100, topology.Switch: 50, topology.PHB: 30, topology.NODE: 20, topology.SYS: 10,
	}
	if w == link.KindWeights {
		return func(i, j int) int { return byKind[alloctest.ClassOf(g, i, j)] }, nil
	}
	if w != link.BandwidthWeights {
		return nil, &ArgumentError{Reason: fmt.Sprintf("weights %v", w)}
	}
	tenths := func(i, j int) int { return int(math.Round(10 * g.Bandwidth(i, j))) }
	least := map[topology.Kind]int{}
	for i := range g.Len() {
		for j := range i {
			if v := g.Bandwidth(i, j); !(v >= 0 && v <= 6000) { // NaN is neither
				return nil, &ArgumentError{Reason: fmt.Sprintf("the link between GPU %d and %d has %v GB/s", j, i, v)}
			}
			k := alloctest.ClassOf(g, i, j)
			if v := tenths(i, j); v > 0 {
				least[k] = min(v, cmp.Or(least[k], v))
			}
		}
	}
	return func(i, j int) int {
		k := alloctest.ClassOf(g, i, j)
		if v := cmp.Or(tenths(i, j), least[k]); v > 0 {
			return v
		}
		for _, best := range topology.Classes() {
			if least[best] > 0 && byKind[best] > 0 {
				return byKind[k] * least[best] / byKind[best]
			}
		}
		return byKind[k]
	}, nil
}

// split finds the clusters of a class among the free GPUs.
func (j *judge) split(c topology.Kind) (clusters []*cluster, of []*cluster) {
	of = make([]*cluster, j.g.Len())
	for _, start := range j.q.Free {
		if of[start] != nil {
			continue
		}
		b := &cluster{gpus: []int{start}, clique: true}
		of[start] = b
		for at := 0; at < len(b.gpus); at++ {
			for _, g := range j.q.Free {
				if of[g] == nil && alloctest.ClassOf(j.g, b.gpus[at], g) >= c {
					of[g] = b
					b.gpus = append(b.gpus, g)
				}
			}
		}
		for i, x := range b.gpus {
			for _, y := range b.gpus[:i] {
				b.clique = b.clique && alloctest.ClassOf(j.g, x, y) >= c
			}
		}
		if !b.clique && len(b.gpus) <= maxLattice {
			b.lattice = newLattice(j.g, c, b.gpus)
		}
		clusters = append(clusters, b)
	}
	return clusters, of
}

// fits reports whether a ring over the GPUs can run on links of class number i or
// better.
func (j *judge) fits(gpus []int, i int) (fits, known bool) {
	c := j.classes[i]
	switch len(gpus) {
	case 0, 1:
		return true, true
	case 2:
		return alloctest.ClassOf(j.g, gpus[0], gpus[1]) >= c, true
	}
	b := j.of[i][gpus[0]]
	for _, g := range gpus {
		if j.of[i][g] != b {
			return false, true
		}
	}
	if b.clique {
		return true, true
	}
	least := len(gpus)
	for _, x := range gpus {
		degree := -1 // a GPU counts itself
		for _, y := range gpus {
			if alloctest.ClassOf(j.g, x, y) >= c {
				degree++
			}
		}
		least = min(least, degree)
	}
	j.steps -= len(gpus) * len(gpus)
	switch {
	case least < 2:
		return false, true
	case 2*least >= len(gpus):
		return true, true // Dirac's theorem
	case len(gpus) > maxLattice:
		return false, false
	}
	limit := j.question()
	w := newLattice(j.g, c, gpus)
	return w.ring(w.all(), &limit)
}

// sets is the greatest number of disjoint sets of so many of the GPUs over each of
// which a ring can run on links of class number i or better.
func (j *judge) sets(gpus []int, i, size int) (n int, known bool) {
	parts := map[*cluster][]int{}
	for _, g := range gpus {
		b := j.of[i][g]
		parts[b] = append(parts[b], g)
	}
	for _, b := range j.clusters[i] {
		part := parts[b]
		switch {
		case b.clique || len(part) < size:
			n += len(part) / size
		case b.lattice == nil && len(part) > maxLattice:
			return 0, false
		default:
			w, own := b.lattice, b.gpus
			if w == nil {
				w, own = newLattice(j.g, j.classes[i], part), part
			}
			limit := j.question()
			m, known := w.pack(w.mask(own, part), size, &limit)
			if !known {
				return 0, false
			}
			n += m
		}
	}
	j.steps -= len(gpus)
	return n, true
}

// question opens a budget for one question, and charges what is used of it.
func (j *judge) question() allowance {
	return allowance{left: min(maxQuestion, j.steps), total: &j.steps}
}

// figures checks all that a candidate says of a set.
func (j *judge) figures(s *weighed, what string, c key.Candidate) error {
	for component := key.ByClass; component < key.ByOrder; component++ {
		if err := j.figure(s, what, component, c); err != nil {
			return err
		}
	}
	return nil
}

// figure checks one component.
func (j *judge) figure(s *weighed, what string, component key.Component, c key.Candidate) error {
	what = fmt.Sprintf("%v of %s", component, what)
	got := quantities(component, c)
	var shape []key.Count
	if component == key.ByCapability || component == key.ByRest {
		shape = s.shape(component)
		if len(got) != len(shape) {
			return wrong("number of counts of the "+what, len(got), len(shape))
		}
	}
	for i, v := range got {
		name := what
		if shape != nil {
			list := c.Capability
			if component == key.ByRest {
				list = c.Rest
			}
			if list[i].Class != shape[i].Class || list[i].Size != shape[i].Size {
				return wrong("counts of the "+what, fmt.Sprint(list[i].Class, list[i].Size), fmt.Sprint(shape[i].Class, shape[i].Size))
			}
			name = fmt.Sprintf("%s, %v×%d", what, shape[i].Class, shape[i].Size)
		}
		want, known := 0, true
		if component < key.ByScore || slices.Contains(j.key, component) {
			want, known = s.at(component, i)
		}
		switch {
		case !known:
			j.unknown = append(j.unknown, name)
		case j.bounded && shape != nil && v < want:
		case component == key.ByClass && v != want:
			return wrong(name, topology.Kind(v), topology.Kind(want))
		case v != want:
			return wrong(name, v, want)
		}
	}
	return nil
}

// quantities are a component of a candidate in numbers, of which more is better.
func quantities(component key.Component, c key.Candidate) []int {
	sets := func(list []key.Count) (n []int) {
		for _, c := range list {
			n = append(n, c.Sets)
		}
		return n
	}
	switch component {
	case key.ByClass:
		return []int{int(c.Class)}
	case key.ByCapability:
		return sets(c.Capability)
	case key.ByWeight:
		return []int{c.Weight}
	case key.ByRest:
		return sets(c.Rest)
	case key.ByCut:
		return []int{-c.Cut}
	case key.ByLocality:
		return []int{c.Locality}
	case key.ByScore:
		return []int{int(math.Round(1000 * c.Score))}
	case key.ByJobs:
		return []int{-c.Jobs}
	}
	return nil
}
