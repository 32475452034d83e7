// SPDX-License-Identifier: Apache-2.0

package alloc

import (
	"fmt"
	"slices"

	"github.com/metax-ctk/container-toolkit/internal/alloc/explain"
	"github.com/metax-ctk/container-toolkit/internal/alloc/key"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// Request is a request for N of the free GPUs. GPUs are named by their index in the Graph;
// the order of the lists does not matter.
type Request struct {
	N        int
	Free     []int // GPUs that may be picked
	Required []int // GPUs that the answer must have
	Policy   key.Policy
	Scope    key.Scope
	Sizes    SizeRule
	// SizesOrigin is the setting that Sizes is from, for messages; may be empty.
	SizesOrigin string
	// Explain fills Answer.Explanation. It takes about as long as one more pick for each
	// GPU of the answer, up to a limit.
	Explain bool
}

// Answer is the best set of GPUs for a Request.
type Answer struct {
	GPUs   []int // indices, ascending
	Policy key.Policy
	// Class is the class of the set (package key). If Method is "closure", it is the
	// class of the best ring that was found.
	Class topology.Kind
	// Exact says that it is proven that no better set exists.
	Exact bool
	// Method names the algorithm: "table" (every set of a small node), "tree" (a
	// hierarchy of clusters) or "closure" (the best set of the closest hierarchy of a
	// larger node whose links do not nest).
	Method      string
	Warnings    []string             // one line each, for a person
	Explanation *explain.Explanation // nil unless requested
}

// toQuestion returns the question that r asks about a node of so many GPUs. The error is an
// *ArgumentError.
func (r Request) toQuestion(gpus int) (key.Question, error) {
	bad := func(format string, a ...any) (key.Question, error) {
		return key.Question{}, &ArgumentError{Reason: fmt.Sprintf(format, a...)}
	}
	switch {
	case r.N <= 0:
		return bad("%d GPUs requested; want at least 1", r.N)
	case !slices.Contains(key.Scopes, r.Scope):
		return bad("scope %v", r.Scope)
	case !slices.Contains(sizeRules, r.Sizes):
		return bad("size rule %v", r.Sizes)
	case len(r.Required) > r.N:
		return bad("%d GPUs requested, but %d required", r.N, len(r.Required))
	}
	q := key.Question{
		N: r.N, Free: slices.Clone(r.Free), Required: slices.Clone(r.Required),
		Policy: r.Policy, Scope: r.Scope,
	}
	slices.Sort(q.Free)
	slices.Sort(q.Required)
	for _, list := range []struct {
		name string
		gpus []int
	}{{"free", q.Free}, {"required", q.Required}} {
		for i, g := range list.gpus {
			switch {
			case g < 0 || g >= gpus:
				return bad("%s GPU %d is not on the node, which has %d", list.name, g, gpus)
			case i > 0 && list.gpus[i-1] == g:
				return bad("%s GPU %d is named twice", list.name, g)
			}
		}
	}
	return q, nil
}

// notFree returns the required GPUs that are not free.
func notFree(q key.Question) []int {
	return slices.DeleteFunc(slices.Clone(q.Required), func(g int) bool {
		_, free := slices.BinarySearch(q.Free, g)
		return free
	})
}
