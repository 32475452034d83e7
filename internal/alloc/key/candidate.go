package key

import "github.com/metax-ctk/container-toolkit/internal/topology"

// Candidate is a set of GPUs with what it was judged by.
type Candidate struct {
	GPUs       []int         `json:"gpus,omitempty"`
	Class      topology.Kind `json:"class"`
	Capability []Count       `json:"capability"` // of the GPUs
	Weight     int           `json:"weight"`
	Rest       []Count       `json:"rest"` // the capability of the free GPUs that remain
	Cut        int           `json:"cut"`
	Locality   int           `json:"locality"`
	// What single policies judge by besides; 0 where it is no part of the policy.
	Score float64 `json:"score,omitempty"` // Weighted: gain·weight − loss·cut
	Jobs  int     `json:"jobs,omitempty"`  // MTF: the jobs that would fill the node, after less before
}

// Count says that as many disjoint sets of Size GPUs can be served at once, each
// with a ring of links of Class or better.
type Count struct {
	Class topology.Kind `json:"class"`
	Size  int           `json:"size"`
	Sets  int           `json:"sets"`
}
