// SPDX-License-Identifier: Apache-2.0

package key

import "github.com/metax-ctk/container-toolkit/internal/topology"

// Question is a valid request: N is positive, and the lists are ascending and name each
// GPU of the graph at most once.
type Question struct {
	N              int
	Free, Required []int
	// Excluded GPUs are free but may not be picked. The runner-up of an answer is found
	// by excluding a GPU of it. Ascending, and none of them is required.
	Excluded []int
	Policy   Policy
	Scope    Scope
}

// Solution is a solver's answer to a Question.
type Solution struct {
	GPUs   []int
	Class  topology.Kind
	Method string // the name of the algorithm
	// Bounded says that the search ended before it had compared all sets that may be
	// better or, if it found no set, may meet the question.
	Bounded bool
}
