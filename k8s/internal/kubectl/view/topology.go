// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/topology/picture"
	"github.com/metax-ctk/container-toolkit/k8s/internal/objects"
	"github.com/metax-ctk/container-toolkit/k8s/internal/protocol"
	"github.com/metax-ctk/container-toolkit/k8s/internal/scheduler/nodescore"
)

// ErrUnknownTopology reports a Node whose annotations do not say how its GPUs are linked.
var ErrUnknownTopology = errors.New("its annotations do not say how its GPUs are linked")

// Topology is how the GPUs of a Node are linked, in the words of metax-ctk topology print. Its
// bridges have numbers where those have addresses.
type Topology struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	picture.Document

	view picture.View
}

// NewTopology returns the topology of the first Node of the objects. It fails with
// ErrUnknownTopology.
func NewTopology(o objects.Objects) (Topology, error) {
	nodes, _ := newNodes(o, new(nodescore.Shapes))
	n := nodes[0]
	if n.Source != fromAnnotations {
		return Topology{}, fmt.Errorf("node %s: %w: %s", n.Name, ErrUnknownTopology,
			cmp.Or(strings.Join(n.Problems, "; "), "metax-gpu-device has not written them"))
	}
	v := picture.View{Node: n.hardware, Graph: n.graph, BridgeName: protocol.BridgeName}
	for i := range n.hardware.GPUs {
		if s := n.gpuState(i); s == stateInUse || s == stateOutside {
			v.InUse = append(v.InUse, i)
		}
	}
	return Topology{APIVersion: apiVersion, Kind: "TopologyPrint", Document: v.Document(), view: v}, nil
}

// Matrix writes a table with the class of the link between each two GPUs.
func (t Topology) Matrix(w io.Writer) error { return picture.Matrix(w, t.view) }

// Tree writes a line for each GPU.
func (t Topology) Tree(w io.Writer) error { return picture.Tree(w, t.view) }

// SVG writes a picture.
func (t Topology) SVG(w io.Writer) error { return picture.SVG(w, t.view) }
