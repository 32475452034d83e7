// SPDX-License-Identifier: Apache-2.0

package link

import (
	"fmt"
	"math"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/internal/wording"
)

// Weights is a way to weigh links.
type Weights uint8

// The ways to weigh links.
const (
	// KindWeights weighs a link by its class: MX 100, SWITCH (PIX and PXB) 50, PHB 30,
	// NODE 20, SYS 10, unknown 0.
	KindWeights Weights = iota
	// BandwidthWeights weighs a link by its bandwidth in tenths of GB/s. If the
	// bandwidth of a pair is not stated, the least that is stated for its class counts.
	// If none is stated for the class, that of the best class with a stated bandwidth
	// counts, in the proportion of KindWeights.
	BandwidthWeights
)

// AllWeights are all ways to weigh links.
var AllWeights = []Weights{KindWeights, BandwidthWeights}

var weightsNames = []string{"kind", "bandwidth"}

// String returns the name: "kind" or "bandwidth".
func (w Weights) String() string { return wording.Name(weightsNames, w) }

// classWeights are the weights of KindWeights.
var classWeights = [...]int{
	topology.MX: 100, topology.Switch: 50, topology.PHB: 30,
	topology.NODE: 20, topology.SYS: 10, topology.Unknown: 0,
}

// WeightOfClass returns the weight of a link of a class by KindWeights.
func WeightOfClass(class topology.Kind) int { return classWeights[class] }

// publishedMX is the weight of MetaXLink in the tables that MetaX's device plugin publishes
// of a node (Project-HAMi/HAMi#1075).
const publishedMX = 110

// ByPublishedClass returns the links of g, weighed as in published tables: by KindWeights, but
// MX 110.
func ByPublishedClass(g *topology.Graph) *Graph {
	s := ByClass(g)
	s.byClass[topology.MX] = publishedMX
	return s
}

// PublishedMesh returns the greatest weight that n GPUs can have in published tables: that of
// a full mesh of MetaXLink.
func PublishedMesh(n int) int { return publishedMX * n * (n - 1) / 2 }

// maxGBps limits a bandwidth, so that the weights of a whole node do not overflow when
// they are added.
const maxGBps = 6000

// ByClass returns the links of g, weighed by KindWeights.
func ByClass(g *topology.Graph) *Graph {
	return &Graph{g: g, byClass: classWeights}
}

// New returns the links of g, weighed by w. It is an error if w is not one of the ways
// or if a bandwidth is not between 0 and 6000 GB/s.
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
	var least [len(classWeights)]int // stated, by class
	for i := range n {
		for j := range i {
			gbps := g.Bandwidth(i, j)
			if !(gbps >= 0 && gbps <= maxGBps) { // also if it is NaN
				return nil, fmt.Errorf("the link between GPU %d and %d has %v GB/s; want 0 (not known) to %d", j, i, gbps, maxGBps)
			}
			if gbps == 0 {
				continue
			}
			v := max(1, int(math.Round(10*gbps)))
			s.tenths[i*n+j], s.tenths[j*n+i] = int32(v), int32(v)
			if class := s.Class(i, j); least[class] == 0 || v < least[class] {
				least[class] = v
			}
		}
	}
	for _, best := range topology.Classes() {
		if least[best] == 0 || classWeights[best] == 0 {
			continue
		}
		for class := range s.byClass {
			s.byClass[class] = classWeights[class] * least[best] / classWeights[best]
		}
		break
	}
	for class, v := range least {
		if v > 0 {
			s.byClass[class] = v
		}
	}
	return s, nil
}
