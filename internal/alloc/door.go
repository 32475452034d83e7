package alloc

import (
	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/alloc/link"
)

type (
	Policy      = key.Policy
	Scope       = key.Scope
	Candidate   = key.Candidate
	Count       = key.Count
	Weights     = link.Weights
	Explanation = explain.Explanation
)

var (
	Spread  = key.Spread
	Binpack = key.Binpack
	MTF     = key.MTF
	First   = key.First
)

const (
	Any  = key.Any
	Link = key.Link
	NUMA = key.NUMA

	KindWeights      = link.KindWeights
	BandwidthWeights = link.BandwidthWeights
)
