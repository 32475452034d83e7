// SPDX-License-Identifier: Apache-2.0

package key

import (
	"math/bits"

	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Candidate is a set of GPUs with the components by which it is compared.
type Candidate struct {
	GPUs       []int         `json:"gpus,omitempty"`
	Class      topology.Kind `json:"class"`
	Capability []Count       `json:"capability"` // of the GPUs
	Weight     int           `json:"weight"`
	Rest       []Count       `json:"rest"` // the capability of the free GPUs that remain
	Cut        int           `json:"cut"`
	Locality   int           `json:"locality"`
	// Of one policy each, and 0 for all others.
	Score float64 `json:"score,omitempty"` // Weighted: gain·weight − loss·cut
	Jobs  int     `json:"jobs,omitempty"`  // MTF: the jobs that fill the rest, minus those before the pick
}

// Count is one number of a capability: Sets disjoint sets of Size GPUs can have a ring
// of links of Class or better at the same time.
type Count struct {
	Class topology.Kind `json:"class"`
	Size  int           `json:"size"`
	Sets  int           `json:"sets"`
}

// Log2 returns the exponent of the greatest power of two up to n, and 0 if n is 0. The
// capability of n GPUs counts sets of 1<<Log2(n) down to 2 GPUs.
func Log2(n int) int { return bits.Len(uint(n|1)) - 1 }
