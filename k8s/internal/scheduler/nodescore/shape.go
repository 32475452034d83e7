// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"math/bits"
	"runtime"
	"sync"
	"weak"

	"github.com/metax-ctk/container-toolkit/internal/alloc"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Shape is what nodes with the same GPUs, at the same places and with the same links, have in
// common. It is made by Shapes.
type Shape struct {
	id     uint64 // of all Shapes
	gpus   int
	picker *alloc.Picker
	scale  protocol.Scale
}

// Shapes has the Shape of each node, one for all nodes that are alike, and remembers what a
// Shape offers: most nodes of a cluster are alike, and in the same states again and again.
// What is remembered depends on nothing else, so it is never out of date. It is safe for
// concurrent use. The zero value is ready.
type Shapes struct {
	mu     sync.Mutex
	made   uint64 // Shapes up to now
	shapes map[string]weak.Pointer[Shape]
	offers map[question]*Offer
}

// maxOffers bounds how many offers are remembered, about a kilobyte each.
const maxOffers = 1 << 13

// gpuSet is a set of the GPUs of a node; a NodeTopology has no more.
type gpuSet [4]uint64

func setOf(gpus []int) (s gpuSet) {
	for _, g := range gpus {
		s[g/64] |= 1 << (g % 64)
	}
	return s
}

// len returns the number of GPUs in the set.
func (s gpuSet) len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// question is what decides an offer.
type question struct {
	shape  uint64
	free   gpuSet
	n      int
	policy key.Policy
}

// Offer is what a node has for a request.
type Offer struct {
	// Key is of the best set of the free GPUs by the policy of the request.
	Key alloc.NodeScore
	// Score and Loss are on the scale of the vendor's annotations.
	Score, Loss int
	// order compares offers by their keys: the greater is better.
	order string
	// Err says why no set of the free GPUs fits the request; nil if one does.
	Err error
}

// shapeOf returns the Shape of a topology, without what differs between nodes that are alike.
func (s *Shapes) shapeOf(t protocol.NodeTopology) (*Shape, error) {
	gpus := t.GPUs
	t.GPUs = make([]protocol.TopologyGPU, len(gpus))
	for i, g := range gpus {
		t.GPUs[i] = protocol.TopologyGPU{NUMA: g.NUMA, Bridges: g.Bridges, Switch: g.Switch}
	}
	name := t.String()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.shapes[name].Value(); known != nil {
		return known, nil
	}
	node, err := t.Node()
	if err != nil {
		return nil, err
	}
	graph, _ := topology.New(node)
	s.made++
	made := &Shape{id: s.made, gpus: len(gpus), picker: alloc.New(graph), scale: protocol.NewScale(graph)}
	if s.shapes == nil {
		s.shapes = map[string]weak.Pointer[Shape]{}
	}
	s.shapes[name] = weak.Make(made)
	runtime.AddCleanup(made, s.forget, name)
	return made, nil
}

// forget forgets a Shape that no node has any more.
func (s *Shapes) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shapes[name].Value() == nil {
		delete(s.shapes, name)
	}
}

// offerFor returns what a node of the Shape with these free GPUs, ascending, has for a
// request.
func (s *Shapes) offerFor(shape *Shape, free []int, r Request) *Offer {
	q := question{shape: shape.id, free: setOf(free), n: r.GPUs, policy: r.Policy}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.offers[q]; ok {
		return known
	}
	if s.offers == nil || len(s.offers) >= maxOffers {
		s.offers = map[question]*Offer{}
	}
	o := &Offer{}
	if o.Key, o.Err = shape.picker.Score(r.pickerRequest(free)); o.Err == nil {
		o.order = o.Key.Order()
		o.Score, o.Loss, o.Err = shape.scale.Values(free, r.GPUs)
	}
	s.offers[q] = o
	return o
}
