package key

import "github.com/metax-ctk/container-toolkit/internal/topology"

// question is a Request that makes sense: n is positive, and the lists are
// ascending and name each GPU of the graph at most once.
type Question struct {
	N              int
	Free, Required []int
	// barred are GPUs that are free and may not be picked, as the second best set
	// lacks one of the best; ascending, none of them required.
	Barred []int
	Policy Policy
	Scope  Scope
}

// solution is a solver's part of an Answer.
type Solution struct {
	GPUs   []int
	Class  topology.Kind
	Method string
	// bounded says that the search did not look at all that might be better, or
	// where there is no set, might be one.
	Bounded bool
}
