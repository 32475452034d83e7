package alloc

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
)

// The types of requests and answers, which the solvers share.
type (
	Policy      = key.Policy
	Scope       = key.Scope
	Weights     = link.Weights
	Candidate   = key.Candidate
	Count       = key.Count
	Explanation = explain.Explanation
)

// The policies without parameters.
var (
	Spread  = key.Spread
	Binpack = key.Binpack
	MTF     = key.MTF
	First   = key.First
)

// The scopes and the ways to weigh links that programs name.
const (
	Any  = key.Any
	Link = key.Link
	NUMA = key.NUMA

	KindWeights      = link.KindWeights
	BandwidthWeights = link.BandwidthWeights
)
