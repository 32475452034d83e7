// SPDX-License-Identifier: Apache-2.0

package nodescoretest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/sim"
	"github.com/metax-ctk/container-toolkit/internal/topology"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/test/alloctest"
)

// Node is a node of up to 8 GPUs of a random cluster.
type Node struct {
	Name                     string
	GPUs                     gpu.Node
	Free, Unhealthy, Outside []int
	Generation               int64 // of the state
}

func (n Node) topologyGraph() *topology.Graph {
	g, _ := topology.New(n.GPUs)
	return g
}

// Annotations returns what metax-gpu-device would publish of the node.
func (n Node) Annotations() (map[string]string, error) {
	t, err := protocol.NewNodeTopology(n.GPUs)
	if err != nil {
		return nil, err
	}
	scores, losses, err := protocol.NewScale(n.topologyGraph()).Tables(n.Free)
	if err != nil {
		return nil, err
	}
	s := protocol.NodeState{
		Generation: n.Generation, GPUs: len(n.GPUs.GPUs), Free: n.Free, Unhealthy: n.Unhealthy,
		Outside: n.Outside,
	}
	return map[string]string{
		protocol.NodeAnnotation: t.String(), protocol.StateAnnotation: s.String(),
		protocol.ScoresAnnotation: scores.String(), protocol.LossesAnnotation: losses.String(),
	}, nil
}

// Used returns how many GPUs pods have: those that are neither free nor unhealthy nor in use
// by others.
func (n Node) Used() int {
	return len(n.GPUs.GPUs) - len(n.Free) - len(n.Unhealthy) - len(n.Outside)
}

// Simulated returns the GPUs of a simulated node such as c500-8.
func Simulated(name string) (gpu.Node, error) { return sim.Node(name) }

// Random makes a cluster of nodes of 8 GPUs in random states: nodes of the kinds that there
// are, and nodes with random links.
func Random(r *rand.Rand, nodes int) (all []Node) {
	known := alloctest.Nodes()
	names := slices.Sorted(maps.Keys(known))
	for i := range nodes {
		n := Node{Name: fmt.Sprintf("node-%04d", i), GPUs: known[names[r.IntN(len(names))]]}
		if r.IntN(4) == 0 {
			n.GPUs = alloctest.Random(r, 8, 1+r.IntN(4))
		}
		for g := range n.GPUs.GPUs {
			p := r.IntN(20)
			switch {
			case p < 11:
				n.Free = append(n.Free, g)
			case p == 18:
				n.Unhealthy = append(n.Unhealthy, g)
			case p == 19:
				n.Outside = append(n.Outside, g)
			}
		}
		all = append(all, n)
	}
	return all
}
