// SPDX-License-Identifier: Apache-2.0

package nodescore

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/peer"
	"github.com/metax-ctk/container-toolkit/internal/wording"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
)

// Node is what is known of one node at one time.
type Node struct {
	Name string
	Published
	// Allocatable is how many GPUs the kubelet reports, and Requested how many the pods on the
	// node request together.
	Allocatable, Requested int
	// Recent are pods on the node that its state does not count yet.
	Recent Recent
}

// Published is what the annotations of a node say of its GPUs.
type Published struct {
	// Shape is nil if the node has no valid topology and state of metax-gpu-device.
	Shape *Shape
	State protocol.NodeState
	// Scores and Losses are by the number of GPUs; nil if not both annotations are valid.
	Scores, Losses peer.HAMiTable
	// Problem says why there is no Shape; nil if there is one.
	Problem *Problem
}

// Problem is something wrong with what a node publishes.
type Problem struct {
	Kind ProblemKind
	Text string
}

// ProblemKind is what is wrong.
type ProblemKind string

// The kinds of problems. A node with GPUs whose annotations are Missing may have the vendor's
// plugin; one whose annotations are Malformed, or Stale because they contradict what its pods
// request, has a plugin that is broken.
const (
	Missing   ProblemKind = "missing"
	Malformed ProblemKind = "malformed"
	Stale     ProblemKind = "stale"
)

// Read reads the annotations of a node.
func (s *Shapes) Read(annotations map[string]string) (p Published) {
	p.readTables(annotations)
	topology, hasTopology := annotations[protocol.NodeAnnotation]
	state, hasState := annotations[protocol.StateAnnotation]
	if !hasTopology || !hasState {
		p.Problem = &Problem{
			Missing,
			fmt.Sprintf("it does not have both annotations %s and %s", protocol.NodeAnnotation, protocol.StateAnnotation),
		}
		return p
	}
	t, err := protocol.ParseNodeTopology(topology)
	var shape *Shape
	if err == nil {
		shape, err = s.shapeOf(t)
	}
	if err == nil {
		p.State, err = protocol.ParseNodeState(state, len(t.GPUs))
	}
	if err != nil {
		p.Problem = &Problem{Malformed, err.Error()}
		return p
	}
	p.Shape = shape
	return p
}

func (p *Published) readTables(annotations map[string]string) {
	scores, err := protocol.ParseTable(protocol.ScoresAnnotation, annotations[protocol.ScoresAnnotation])
	losses, errLosses := protocol.ParseTable(protocol.LossesAnnotation, annotations[protocol.LossesAnnotation])
	if err == nil && errLosses == nil {
		p.Scores, p.Losses = scores, losses
	}
}

// Contradiction returns what is wrong with what a node publishes, given its pods; nil if
// nothing is.
func (n Node) Contradiction() *Problem {
	if n.Shape == nil {
		return n.Problem
	}
	counted := n.Requested - n.Recent.GPUs()
	if n.offersWholeGPUs() && len(n.State.Free)+counted > n.Shape.gpus {
		return &Problem{Stale, fmt.Sprintf("its state has %s free of %d, but pods request %d",
			wording.Count(len(n.State.Free), "GPU"), n.Shape.gpus, counted)}
	}
	return nil
}

// offersWholeGPUs reports whether the node offers its GPUs as a whole, and not as shares or
// virtual functions.
func (n Node) offersWholeGPUs() bool { return n.Allocatable <= n.Shape.gpus }

// unrequestedGPUs returns how many GPUs pods can still get by count.
func (n Node) unrequestedGPUs() int {
	lost := setOf(slices.Concat(n.State.Unhealthy, n.State.Outside))
	return min(n.Shape.gpus-lost.len(), n.Allocatable) - n.Requested
}
