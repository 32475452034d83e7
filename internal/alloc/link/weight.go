package link

import (
	"fmt"
	"math"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"

	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Weights says what a link between two GPUs is worth.
type Weights uint8

// The ways to weigh.
const (
	// KindWeights goes by the class of the link: MX 100, PIX and PXB 50, PHB 30,
	// NODE 20, SYS 10, unknown 0.
	KindWeights Weights = iota
	// BandwidthWeights goes by the link's bandwidth, in tenths of GB/s. A pair
	// whose bandwidth is not stated gets the least that is stated for its class;
	// a class of which nothing is stated, the same part of the best class for
	// which something is as KindWeights give it.
	BandwidthWeights
)

var AllWeights = []Weights{KindWeights, BandwidthWeights}

var weightsNames = []string{"kind", "bandwidth"}

// String is the way's name: "kind" or "bandwidth".
func (w Weights) String() string { return wording.Name(weightsNames, w) }

// kindWeights is the default table of the allocation specification, section 2.
var kindWeights = [...]int{
	topology.MX: 100, topology.Switch: 50, topology.PHB: 30,
	topology.NODE: 20, topology.SYS: 10, topology.Unknown: 0,
}

// maxGBps bounds a bandwidth, so that the weight of a whole node fits.
const maxGBps = 6000

// scale weighs the pairs of a graph.
type Graph struct {
	g       *topology.Graph
	tenths  []int32               // n×n, 0 where nothing is stated; nil weighs by kind
	unknown [len(kindWeights)]int // what a pair gets for which nothing is stated
}

// byKind weighs by the class of the links alone.
func ByClass(g *topology.Graph) *Graph {
	return &Graph{g: g, unknown: kindWeights}
}

// newScale weighs by w. The error is an *ArgumentError: a bandwidth that is none.
func New(g *topology.Graph, w Weights) (*Graph, error) {
	s := ByClass(g)
	switch {
	case !slices.Contains(AllWeights, w):
		return nil, fmt.Errorf("weights %v", w)
	case w == KindWeights:
		return s, nil
	}
	n := g.Len()
	s.tenths = make([]int32, n*n)
	var least [len(kindWeights)]int
	for i := range n {
		for j := range i {
			gbps := g.Bandwidth(i, j)
			if !(gbps >= 0 && gbps <= maxGBps) { // NaN is neither
				return nil, fmt.Errorf("the link between GPU %d and %d has %v GB/s; want 0 (not known) to %d", j, i, gbps, maxGBps)
			}
			if gbps == 0 {
				continue
			}
			v := max(1, int(math.Round(10*gbps)))
			s.tenths[i*n+j], s.tenths[j*n+i] = int32(v), int32(v)
			if k := s.Class(i, j); least[k] == 0 || v < least[k] {
				least[k] = v
			}
		}
	}
	for _, best := range topology.Classes() {
		if least[best] == 0 || kindWeights[best] == 0 {
			continue
		}
		for k := range s.unknown {
			s.unknown[k] = kindWeights[k] * least[best] / kindWeights[best]
		}
		break
	}
	for k, v := range least {
		if v > 0 {
			s.unknown[k] = v
		}
	}
	return s, nil
}

// size is the number of GPUs.
func (s *Graph) Len() int { return s.g.Len() }

// weight is what the link between GPUs i and j is worth.
func (s *Graph) Weight(i, j int) int {
	if s.tenths != nil {
		if v := s.tenths[i*s.Len()+j]; v > 0 {
			return int(v)
		}
	}
	return s.unknown[s.Class(i, j)]
}

// weightOfClass is what a link of a class is worth by KindWeights.
func WeightOfClass(class topology.Kind) int { return kindWeights[class] }
