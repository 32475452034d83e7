// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Document is a View as programs print it in JSON.
type Document struct {
	Node gpu.Node `json:"node"`
	// Matrix[i][j] is the class of the link between GPUs i and j, "X" for i == j.
	Matrix [][]string `json:"matrix"`
	// NICs[i][k] is the class of the link between GPU i and network card k of the node.
	NICs    [][]topology.Kind `json:"nicMatrix,omitempty"`
	Domains [][]int           `json:"domains"`
	Picked  []int             `json:"picked,omitempty"`
	Busy    []int             `json:"busy,omitempty"`
}

// Document returns the document of a View that has a Graph.
func (v View) Document() Document {
	return Document{
		Node: v.Node, Matrix: v.Graph.Classes(), NICs: nicMatrix(v.Node), Domains: v.Graph.Domains(),
		Picked: v.Picked, Busy: v.InUse,
	}
}
